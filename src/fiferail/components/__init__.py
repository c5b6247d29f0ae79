"""Components: an operator as parts that converge by themselves and say so in one condition each.

    from fiferail.components import Component, ConfigMap, Deployment

    def web(app):
        return Component("web", condition="WebReady", grace=60, resources=[ConfigMap(config(app)), Deployment(deployment(app))])

`Component` and `Aggregate` stage conditions; the ready-made kinds know their own health, and `Workload`, `Task`, `Integration` and
`Static` serve any other kind. `Mutation` and `PodMutation` edit what is desired by version and flag, `Data` carries values from one
resource to a later one, `golden` keeps what is rendered under review.
"""

from __future__ import annotations

from . import golden
from .aggregate import Aggregate
from .checks import ComponentInvalid
from .component import Component, soonest
from .data import Data, DataMissing
from .gates import Versions
from .kinds import *  # noqa: F403
from .kinds import __all__ as _kinds
from .metrics import PrometheusRecorder, Recorder
from .mutations import Mutation, PodMutation, container, pod_template, set_env
from .reasons import Health, Reason
from .resource import Integration, Operation, Resource, Static, Task, Workload

__all__ = [
    "Aggregate",
    "Component",
    "ComponentInvalid",
    "Data",
    "DataMissing",
    "Health",
    "Integration",
    "Mutation",
    "Operation",
    "PodMutation",
    "PrometheusRecorder",
    "Reason",
    "Recorder",
    "Resource",
    "Static",
    "Task",
    "Versions",
    "Workload",
    "container",
    "golden",
    "pod_template",
    "set_env",
    "soonest",
    *_kinds,
]

"""The checker on traces of real Go operators: false alarms on their suites as they are, misses on the same traces with stale writes.

`python -m benchmarks traces` collects the audit logs that are not in the user's cache yet (minutes per suite), checks them, injects stale
list writes at random places, and keeps only numbers.
"""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

from ..measure import load as kept
from ..measure import table
from . import inject, measured
from .suites import Suite, collect

INJECTIONS, SEED = 200, 1
_KUEUE = ("kueue", "sigs.k8s.io/kueue", "v0.15.0")
_KUEUE_CRDS = (("config/components/crd/bases", "config/components/crd/_output"),)
_CAPI = ("cluster-api", "sigs.k8s.io/cluster-api", "v1.8.4")
SUITES = (
    Suite("kuberay", "github.com/ray-project/kuberay/ray-operator", "v1.4.2", "./controllers/ray", arguments=("-ginkgo.timeout=8m",)),
    Suite("karpenter", "sigs.k8s.io/karpenter", "v1.12.1", "./pkg/controllers/nodeclaim/lifecycle"),
    Suite("karpenter", "sigs.k8s.io/karpenter", "v1.12.1", "./pkg/controllers/nodeclaim/disruption"),
    Suite(*_KUEUE, "./test/integration/singlecluster/scheduler", _KUEUE_CRDS, ("-ginkgo.timeout=8m",)),
    Suite(*_KUEUE, "./test/integration/singlecluster/controller/core", _KUEUE_CRDS, ("-ginkgo.timeout=8m",)),
    Suite(*_CAPI, "./internal/controllers/machineset"),
    Suite(*_CAPI, "./internal/controllers/machinedeployment"),
    Suite(*_CAPI, "./internal/controllers/machine"),
    Suite(*_CAPI, "./internal/controllers/machinehealthcheck"),
    Suite(*_CAPI, "./controlplane/kubeadm/internal/controllers"),
)


def run(suites: tuple[Suite, ...] = SUITES, injections: int = INJECTIONS) -> Any:
    """Collect, check, inject, check again."""
    chance = random.Random(SEED)
    logs = [measured.load(collect(suite)) for suite in suites]
    result: dict[str, Any] = {"suites": [], "injected": []}
    for suite, events in zip(suites, logs, strict=True):
        said = {"operator": suite.operator, "version": suite.version, "package": suite.package, **measured.clean(events)}
        print(f"  {suite.name}: {said['writes']} writes, {len(said['losses'])} losses, {said['possible']} possible", flush=True)
        result["suites"].append(said)
    everywhere = [(number, place) for number, events in enumerate(logs) for place in inject.places(events)]
    chosen = chance.sample(everywhere, min(injections, len(everywhere)))
    result["places"] = len(everywhere)
    forms = {place: inject.FORMS[turn % len(inject.FORMS)] for turn, place in enumerate((n, p.number) for n, p in chosen)}
    for number, events in enumerate(logs):
        mine = [place for n, place in chosen if n == number]
        outcomes = measured.stale(events, mine, [forms[number, place.number] for place in mine])
        result["injected"] += [{"suite": suites[number].name, **one} for one in outcomes]
    return result


def render() -> str:
    """The section of the page."""
    result = kept("traces")
    if result is None:
        return ""
    return "\n\n".join(["## The checker on Go operators", *_clean(result), *_stale(result)])


def _clean(result: Any) -> list[str]:
    rows = []
    for one in result["suites"]:
        classes = Counter(loss["certainty"] for loss in one["losses"])
        figures = [one["writes"], one["status_writes"], one["objects"], classes["certain"], classes["inferred"], one["possible"]]
        rows.append([f"{one['operator']} {one['version']}", f"`{one['package'].removeprefix('./')}`", *(f"{n:,}" for n in figures)])
    totals = [sum(int(row[column].replace(",", "")) for row in rows) for column in range(2, 8)]
    rows.append(["all", "", *(f"{n:,}" for n in totals)])
    text = (
        "The operators' own envtest suites, unchanged, from the Go module proxy, on the real kube-apiserver with an audit log that "
        "`fiferail check` reads. Goal: no false certain or inferred loss in at least 5,000 writes of three operators."
    )
    return [text, table(["operator", "suite", "writes", "of status", "objects", "certain", "inferred", "possible"], rows)]


def _stale(result: Any) -> list[str]:
    rows = []
    for form in (*inject.FORMS, "all"):
        mine = [one for one in result["injected"] if form in (one["form"], "all")]
        classes = Counter(one["class"] for one in mine)
        found = classes["certain"] + classes["inferred"]
        figures = [len(mine), classes["certain"], classes["inferred"], classes["possible"], classes["missed"]]
        named = sum(one["named"] for one in mine)
        rows.append([_FORMS[form], *map(str, figures), f"{found / max(1, len(mine)):.1%}", f"{named / max(1, found):.1%}"])
    text = (
        f"The same traces with a stale write at {len(result['injected'])} random places of {result['places']:,}: right after a client "
        "changed the conditions of an object, another one that watches the kind writes the list as it stood before, plus a condition of "
        "its own. Goal: at least 95% found. Named: the finding has the changed condition and both clients."
    )
    return [text, table(["form", "writes", "certain", "inferred", "possible", "missed", "found", "named"], rows)]


_FORMS = {"merge": "merge patch", "json": "JSON patch", "put": "PUT, refused and repeated", "all": "all"}

"""How a list is lost that many append to: a workload adds its entry to the config's status, and the config's owner patches the list too.

The owner computed the list from the workloads that it had seen when it read. Nothing in its patch says so, and nothing refuses it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .kinds import AUTH, CONFIGS, config, workload
from .wires import line, send

if TYPE_CHECKING:
    from rich.console import Console

    from ...testing.checking import Watchman
    from .wires import Counted

WORKLOAD, OWNER = WRITERS = ("server-controller", "config-controller")
NAME = "sso"


def with_appends(console: Console, transports: dict[str, Counted], watchman: Watchman) -> None:
    """Both read, both write the list, one entry is gone."""
    from rich.markup import escape

    from ...history.words import explain
    from ...wire import JSON, MERGE_PATCH

    workloads, owner = transports[WORKLOAD], transports[OWNER]
    console.rule("[bold]a list that workloads append to, and that its owner patches", align="left")
    send(owner, "POST", CONFIGS, JSON, config(NAME))
    found = referring(owner)
    send(owner, "GET", f"{CONFIGS}/{NAME}")
    console.print(f"  {OWNER} reads AuthConfig {NAME} and looks who refers to it: {len(found)} workloads")
    send(workloads, "POST", f"/apis/{AUTH}/namespaces/default/servers", JSON, workload("Server", "a", NAME))
    read = send(workloads, "GET", f"{CONFIGS}/{NAME}")[1]
    appended = {**read, "status": {"referencingWorkloads": [{"kind": "Server", "name": "a"}]}}
    code, _, spent = send(workloads, "PUT", f"{CONFIGS}/{NAME}/status", JSON, appended)
    console.print(line(WORKLOAD, "appends Server a, which is new: PUT", f"[green]{code} OK[/]", spent))
    code, stored, spent = send(owner, "PATCH", f"{CONFIGS}/{NAME}/status", MERGE_PATCH, {"status": {"referencingWorkloads": found}})
    console.print(line(OWNER, f"writes the {len(found)} it found: merge patch", f"[green]{code} OK[/]", spent))
    for finding in watchman.findings():
        console.print(f"\n[bold red]{escape(explain(finding))}[/]")
    left = len(stored["status"]["referencingWorkloads"])
    console.print(f"Both were answered 200. The list has {left} entries; Server a still refers to {NAME}.\n")


def referring(transport: Counted) -> list[dict[str, str]]:
    """The Servers that refer to the config at this moment."""
    listed: Any = send(transport, "GET", f"/apis/{AUTH}/namespaces/default/servers")[1]
    using = [obj for obj in listed["items"] if obj["spec"]["configRef"]["name"] == NAME]
    return [{"kind": "Server", "name": obj["metadata"]["name"]} for obj in using]

"""CPU of one flush of a 5 KB object with 8 conditions, without I/O: beside `copy.deepcopy` + jsonpatch and kopf's own patch building.

The transport answers from memory at once, so what is measured is staging, compiling, encoding, reading the answer and remembering it.
"""

from __future__ import annotations

import copy
import statistics
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Any

import msgspec

from fiferail.status import flow
from fiferail.status.writer import StatusWriter
from fiferail.wire import Answer, Request

from .measure import in_turns, load, save, shown, table

if TYPE_CHECKING:
    from collections.abc import Callable

TIME = "2026-01-01T00:00:00Z"
DISCOVERY = {
    "resources": [
        {"name": "gadgets", "kind": "Gadget", "namespaced": True},
        {"name": "gadgets/status", "kind": "Gadget", "namespaced": True},
    ]
}
GOALS = {"no-op": "at most 60 us", "change": "at most 150 us"}


def gadget(turn: int = 0) -> dict[str, Any]:
    """The object: spec, 8 conditions, some data, managedFields of three managers."""
    conditions = [
        {
            "type": f"Condition{i}", "status": "True", "reason": "AllUp", "message": f"{i} of 8 parts are up {turn if i == 3 else 0}",
            "observedGeneration": 4, "lastTransitionTime": TIME,
        }
        for i in range(8)
    ]  # fmt: skip
    entries: Any = {f'k:{{"type":"Condition{i}"}}': {".": {}, "f:status": {}, "f:reason": {}} for i in range(8)}
    owned: Any = {"f:status": {"f:conditions": entries}}
    managed = [
        {"manager": f"m{i}", "operation": "Update", "apiVersion": "example.io/v1", "time": TIME, "fieldsV1": owned}
        for i in range(3)
    ]
    tree = {
        "apiVersion": "example.io/v1",
        "kind": "Gadget",
        "metadata": {
            "name": "g", "namespace": "default", "uid": "6a1b", "resourceVersion": str(100 + turn), "generation": 4,
            "managedFields": managed,
            "labels": {f"example.io/label-{i}": "value" for i in range(6)},
        },
        "spec": {"size": 3, "parts": [{"name": f"part-{i}", "image": f"registry.example.io/part-{i}:1.0"} for i in range(8)]},
        "status": {"phase": "Running", "observedGeneration": 4, "conditions": conditions, "data": {f"k{i}": "v" * 20 for i in range(28)}},
    }  # fmt: skip
    return msgspec.json.decode(msgspec.json.encode(tree))  # type: ignore[no-any-return]  # as a client gives it: nothing is shared


class Echo:
    """Answers every patch at once, with the object as it would be."""

    def __init__(self) -> None:
        self.answers = {turn: Answer(200, msgspec.json.encode(gadget(turn))) for turn in (1, 2)}
        self.turn = 1
        self.requests = 0

    def send(self, request: Request, /, timeout: float | None = None) -> Answer:
        """Discovery once, then stored."""
        if request.method == "GET":
            return Answer(200, msgspec.json.encode(DISCOVERY))
        self.requests += 1
        return self.answers[self.turn]

    def stream(self, request: Request, /, timeout: float | None = None) -> Any:
        """Not used."""
        raise AssertionError


def session(conditions: int, turn: int) -> Callable[[], None]:
    """One reconcile: a scalar, observedGeneration and so many conditions are staged; turn 1 changes the message of one of them."""
    echo = Echo()
    writer = StatusWriter(echo, field_manager="bench")
    obj = gadget(0)
    obj["metadata"]["resourceVersion"] = "900"  # as an informer gives it: newer than this writer's own last answer
    said = [(f"Condition{i}", f"{i} of 8 parts are up {turn if i == 3 else 0}") for i in range(3, 3 + conditions)]
    if conditions == 8:
        said = [(f"Condition{i}", f"{i} of 8 parts are up {turn if i == 3 else 0}") for i in range(8)]

    def reconcile() -> None:
        flow.begin()  # as a Controller does: every reconcile is a flow of control of its own
        with writer.session(obj) as status:
            status["phase"] = "Running"
            status.raise_to("observedGeneration", 4)
            for name, message in said:
                status.conditions.set(name, True, reason="AllUp", message=message)

    reconcile()
    assert echo.requests == turn, "nothing changed: nothing is sent; one change: one request"
    return reconcile


def deepcopy_and_jsonpatch() -> Callable[[], None]:
    """What operators write by hand: copy, edit, make_patch."""
    import jsonpatch

    obj = gadget(0)

    def change() -> None:
        edited = copy.deepcopy(obj)
        edited["status"]["conditions"][3]["message"] = "3 of 8 parts are up 1"
        assert jsonpatch.make_patch(obj, edited).to_string()

    return change


def kopf_patch() -> Callable[[], None]:
    """kopf's own: a merge patch with the whole list, diffed against the body."""
    from kopf._cogs.structs.patches import Patch

    obj = gadget(0)

    def change() -> None:
        patch = Patch(body=obj)  # type: ignore[arg-type]
        conditions = [dict(entry) for entry in obj["status"]["conditions"]]
        conditions[3]["message"] = "3 of 8 parts are up 1"
        patch.status["conditions"] = conditions
        assert msgspec.json.encode(patch.as_json_patch())

    return change


IMPORTS = {
    "fiferail": "import fiferail",
    "writers": "import fiferail; fiferail.StatusWriter; fiferail.AsyncStatusWriter",
}


def imports() -> dict[str, float]:
    """CPU seconds that fiferail, and fiferail with both writers, add in a fresh interpreter that has msgspec; medians, in turns."""
    took: dict[str, list[float]] = {name: [] for name in IMPORTS}
    for _ in range(15):
        for name, code in IMPORTS.items():
            timed = f"import time, msgspec; before = time.process_time(); {code}; print(time.process_time() - before)"
            said = subprocess.run([sys.executable, "-c", timed], check=True, capture_output=True, text=True)
            took[name].append(float(said.stdout))
    return {name: statistics.median(all_) for name, all_ in took.items()}


def run() -> dict[str, Any]:
    """Measure everything."""
    obj = gadget(0)
    contenders: dict[str, Callable[[], object]] = {
        "deepcopy": lambda: copy.deepcopy(obj),
        "no-op": session(1, 0),
        "change": session(1, 1),
        "no-op, all eight conditions": session(8, 0),
        "change, all eight conditions": session(8, 1),
        "deepcopy + jsonpatch": deepcopy_and_jsonpatch(),
        "kopf": kopf_patch(),
    }
    cpu = in_turns(contenders, rounds=60, each=20, clock=time.process_time)
    return {"bytes": len(msgspec.json.encode(obj)), "cpu": cpu, "imports": imports()}


def render() -> str:
    """The page's part."""
    result = load("flush_cpu")
    if result is None:
        return ""
    cpu, copied = result["cpu"], result["cpu"]["deepcopy"]
    by_hand = cpu["deepcopy + jsonpatch"]
    rows = [
        [name, shown(seconds), f"{seconds / copied:.2f}", f"{seconds / by_hand:.2f}", GOALS.get(name.partition(",")[0], "")]
        for name, seconds in cpu.items()
    ]
    first, writers = result["imports"]["fiferail"], result["imports"]["writers"]
    return "\n\n".join(
        [
            "## CPU per flush",
            f"One session on an object of {result['bytes'] / 1000:.1f} KB with 8 conditions, without I/O, in CPU time: a scalar, "
            "observedGeneration and one condition (or all eight) are staged; nothing changes, or one message does (then the patch is "
            "compiled, and the answer's version and status are read and remembered; `outcome.object` reads all of it, when asked).",
            table(["what", "median", "of a deepcopy", "of deepcopy + jsonpatch", "goal"], rows),
            f"`import fiferail` takes {shown(first)} more than `import msgspec` (goal: at most 10 ms), with both writers {shown(writers)}.",
        ]
    )


if __name__ == "__main__":
    save("flush_cpu", run())
    print(render())

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
from .judged import verdict
from .suites import Suite, collect

INJECTIONS, SEED = 600, 2026
_KUEUE = ("kueue", "sigs.k8s.io/kueue", "v0.15.0")
_KUEUE_CRDS = (("config/components/crd/bases", "config/components/crd/_output"),)
_CAPI = ("cluster-api", "sigs.k8s.io/cluster-api", "v1.8.4")
SUITES = (
    Suite("kuberay", "github.com/ray-project/kuberay/ray-operator", "v1.4.2", "./controllers/ray", arguments=("-ginkgo.timeout=8m",)),
    Suite("karpenter", "sigs.k8s.io/karpenter", "v1.12.1", "./pkg/controllers/nodeclaim/lifecycle"),
    Suite("karpenter", "sigs.k8s.io/karpenter", "v1.12.1", "./pkg/controllers/nodeclaim/disruption"),
    Suite("karpenter", "sigs.k8s.io/karpenter", "v1.12.1", "./pkg/controllers/node/termination"),
    Suite(*_KUEUE, "./test/integration/singlecluster/scheduler", _KUEUE_CRDS, ("-ginkgo.timeout=8m",)),
    Suite(*_KUEUE, "./test/integration/singlecluster/controller/core", _KUEUE_CRDS, ("-ginkgo.timeout=8m",)),
    Suite(*_KUEUE, "./test/integration/singlecluster/controller/jobs/job", _KUEUE_CRDS, ("-ginkgo.timeout=8m",)),
    Suite(*_KUEUE, "./test/integration/singlecluster/scheduler/podsready", _KUEUE_CRDS, ("-ginkgo.timeout=8m",)),
    Suite(*_CAPI, "./internal/controllers/cluster"),
    Suite(*_CAPI, "./internal/controllers/machineset"),
    Suite(*_CAPI, "./internal/controllers/machinedeployment"),
    Suite(*_CAPI, "./internal/controllers/machine"),
    Suite(*_CAPI, "./internal/controllers/machinehealthcheck"),
    Suite(*_CAPI, "./controlplane/kubeadm/internal/controllers"),
)


def run(suites: tuple[Suite, ...] = SUITES, injections: int = INJECTIONS) -> Any:
    """Collect, check, inject, check again."""
    result: dict[str, Any] = {"suites": [], "injected": []}
    logs = []
    for suite in suites:
        events = measured.load(collect(suite))
        logs.append(measured.apart(events))
        said = {"one": measured.clean(measured.as_one(events)), "apart": measured.clean(logs[-1])}
        result["suites"].append({"operator": suite.operator, "version": suite.version, "package": suite.package, **said})
        for name, one in said.items():
            print(f"  {suite.name}, {name}: {one['writes']} writes, {len(one['losses'])} losses, {one['possible']} possible", flush=True)
    result["places"], chosen = _chosen(logs, injections)
    outcomes = [
        {"suite": suite.name, **one}
        for suite, events, mine in zip(suites, logs, chosen, strict=True)
        for one in measured.stale(events, mine)
    ]
    result["injected"] = [_counted(form, [one for one in outcomes if one["form"] == form]) for form in inject.FORMS]
    result["not_found"] = [one for one in outcomes if one["class"] not in measured.FAILING]
    return result


def _counted(form: str, outcomes: list[dict[str, Any]]) -> dict[str, Any]:
    """How many stale writes of one form were found, how surely, and with the right names."""
    classes = Counter(one["class"] for one in outcomes)
    counts = {name: classes[name] for name in (*measured.FAILING, "possible", "missed")}
    return {"form": form, "writes": len(outcomes), "named": sum(one["named"] for one in outcomes), **counts}


def _chosen(logs: list[list[inject.Event]], injections: int) -> tuple[int, list[list[inject.Stale]]]:
    """How many places there are, and so many stale writes at random ones, per log: the forms in turns, the client at random."""
    chance = random.Random(SEED)
    everywhere = [(number, place) for number, events in enumerate(logs) for place in inject.places(events)]
    chosen: list[list[inject.Stale]] = [[] for _ in logs]
    for turn, (number, place) in enumerate(chance.sample(everywhere, min(injections, len(everywhere)))):
        agent = chance.choice(inject.others(logs[number], place))
        chosen[number].append(inject.Stale(place, inject.FORMS[turn % len(inject.FORMS)], agent))
    return len(everywhere), chosen


def render() -> str:
    """The section of the page."""
    result = kept("traces")
    if result is None:
        return ""
    return "\n\n".join(["## The checker on Go operators", *_clean(result), *_judged(result), *_stale(result)])


def _clean(result: Any) -> list[str]:
    rows = []
    for one in result["suites"]:
        figures = [one["one"]["writes"], one["one"]["status_writes"], one["one"]["objects"], one["apart"]["clients"]]
        for said in (one["one"], one["apart"]):
            classes = Counter(loss["certainty"] for loss in said["losses"])
            figures += [classes["certain"], classes["inferred"], said["possible"]]
        rows.append([f"{one['operator']} {one['version']}", f"`{one['package'].removeprefix('./')}`", *(f"{n:,}" for n in figures)])
    totals = [sum(int(row[column].replace(",", "")) for row in rows) for column in range(2, len(rows[0]))]
    rows.append(["all", "", *(f"{n:,}" for n in totals)])
    head = ["operator", "suite", "writes", "of status", "objects", "clients", "certain", "inferred", "possible"]
    text = (
        "The operators' own envtest suites from the Go module proxy, on the real kube-apiserver with an audit log that `fiferail check` "
        "reads. All controllers of a suite share a process and its User-Agent. The log is checked twice: as it is, and with a client per "
        "controller and one for the test (client-go adds the caller's type to the User-Agent; *apart*). Goal: no false certain or "
        "inferred loss in at least 5,000 writes of three operators."
    )
    return [text, table([*head, *(f"{name}, apart" for name in head[-3:])], rows)]


def _judged(result: Any) -> list[str]:
    """Every certain or inferred loss of the clean traces, with what reading the operator's source says of it."""
    found = Counter((one["operator"], loss["path"]) for one in result["suites"] for loss in one["apart"]["losses"])
    if not found:
        return []
    rows = [[operator, f"`{path}`", str(count), verdict(operator, path)] for (operator, path), count in sorted(found.items())]
    return ["Each of them, judged by reading the operator's source:", table(["operator", "field", "findings", "verdict"], rows)]


def _stale(result: Any) -> list[str]:
    counted = result["injected"]
    names = [name for name in counted[0] if name != "form"]
    total = {"form": "all", **{name: sum(one[name] for one in counted) for name in names}}
    rows = []
    for one in (*counted, total):
        found = one["certain"] + one["inferred"]
        figures = [one["writes"], one["certain"], one["inferred"], one["possible"], one["missed"]]
        shares = [f"{found / max(1, one['writes']):.1%}", f"{one['named'] / max(1, found):.1%}"]
        rows.append([_FORMS[one["form"]], *map(str, figures), *shares])
    text = (
        f"The same traces (apart) with a stale write at {total['writes']} random places of {result['places']:,}: right after a client "
        "changed the conditions of an object, another client that watches the kind (a new one, or another controller of the trace) writes "
        "the list as it stood before, plus a condition of its own. Goal: at least 95% found. Named: the finding has the changed condition "
        "and both clients. The checker's rules were corrected on these same traces (other random seeds): no held-out figure."
    )
    return [text, table(["form", "writes", "certain", "inferred", "possible", "missed", "found", "named"], rows)]


_FORMS = {"merge": "merge patch", "json": "JSON patch", "put": "PUT, refused and repeated", "all": "all"}

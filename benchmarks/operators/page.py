"""The operators' part of the benchmarks page."""

from __future__ import annotations

from typing import Any

from ..measure import shown, table

SERVERS = {"real": "real kube-apiserver", "embedded": "embedded server"}


def rendered(result: dict[str, Any]) -> str:
    """Markdown."""
    race, steady = result["race"], result["steady"]
    parts = [
        "## Operators",
        f"{race['objects']:,} objects that are there when the operator starts, each reconciled to a Ready condition. Every contender is a "
        "process of its own: fiferail, kopf 1.45.2 with its events off, and a controller-runtime operator in Go "
        f"with as many workers as fiferail ({race['concurrency']}). "
        "Seconds are from the start of the process until a watch has shown the last object Ready; requests are counted by the real "
        "server's audit log, and by the numbers of the embedded server's answers; memory is the most that was resident; "
        '"again" are the requests when every object has changed and there is nothing to write.',
    ]
    for where, title in SERVERS.items():
        parts.append(_race(title, race[where]))
    per_object = (steady["full"] - steady["empty"]) / steady["objects"]
    parts.append(
        f"{steady['objects']:,} objects of {steady['object_bytes'] / 1000:.1f} KB in fiferail's cache, on the embedded server, "
        f"{steady['rate']:.0f} changes a second; times are from sending the change to the beginning of its reconcile:"
    )
    rows = [
        ["memory of the operator, empty and full", f"{_mb(steady['empty'])} and {_mb(steady['full'])}"],
        ["memory per object", f"{per_object / 1000:.1f} KB"],
        ["from a change to its reconcile, p50", shown(steady["p50"])],
        ["p99", shown(steady["p99"])],
    ]
    return "\n\n".join([*parts, table(["", ""], rows)])


def _race(title: str, found: dict[str, Any]) -> str:
    names = ["fiferail", "kopf", "Go"]
    rows = [
        ["start to all Ready", *[f"{found[name]['seconds']:.2f} s" for name in names], *_ratios(found, "seconds", 0.5, 1.5)],
        ["processor time", *[f"{found[name]['cpu']:.2f} s" for name in names], *_ratios(found, "cpu")],
        ["requests", *[f"{found[name]['requests']['all']:,}" for name in names], *_ratios(found, "requests", 0.5)],
        ["peak memory", *[_mb(found[name]["memory"]) for name in names], *_ratios(found, "memory", 1 / 3)],
        ["requests again", *[f"{found[name]['again']['all']:,}" for name in names], "", "", "none"],
    ]
    return table([f"on the {title}", *names, "of kopf's", "of Go's", "goal"], rows)


def _ratios(found: dict[str, Any], what: str, kopf: float | None = None, go: float | None = None) -> list[str]:
    mine = _amount(found["fiferail"][what])
    shares = [f"{mine / _amount(found[name][what]):.2f}" for name in ("kopf", "Go")]
    # A handful of questions at the start come on top of one write per object.
    goals = [f"at most {kopf:.2g} of kopf's" if kopf else "", f"{go:g} of Go's" if go else ""]
    return [*shares, ", ".join(goal for goal in goals if goal)]


def _amount(value: Any) -> float:
    return float(value["all"] if isinstance(value, dict) else value)


def _mb(amount: float) -> str:
    return f"{amount / 1e6:.0f} MB"

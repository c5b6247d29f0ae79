"""What a session may stage, as random steps: shared by the tests that draw them."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

TYPES = ["Ready", "Stalled", "Synced"]

_values = st.sampled_from([None, "Up", "Down", 5, 6, True, [], {}, {"x": 1}, [80, 443], [{"name": "a", "up": True}]])
_members = st.sampled_from(["note", "message", "status", "fresh"])

#: One step: what is done, to what, and with which value.
edits = st.one_of(
    st.tuples(st.just("put"), st.sampled_from(["phase", "count", "network", "fresh"]), _values),
    st.tuples(st.just("drop"), st.sampled_from(["phase", "network", "parts", "conditions", "fresh"]), st.none()),
    st.tuples(st.just("below"), st.sampled_from(["ip", "ports", "fresh"]), _values),
    st.tuples(st.just("raise"), st.sampled_from(["count", "network.seen", "fresh"]), st.integers(1, 9)),
    st.tuples(st.just("condition"), st.sampled_from(TYPES), st.sampled_from([True, False, None])),
    st.tuples(st.just("forget"), st.sampled_from(TYPES), st.none()),
    st.tuples(st.just("beside"), st.sampled_from(TYPES), st.tuples(_members, st.sampled_from(["True", "x"]))),
    st.tuples(st.just("entry"), st.sampled_from(["a", "b", "c"]), _values),
    st.tuples(st.just("copy"), st.sampled_from(["phase", "count", "network"]), st.none()),
)


def edited(status: Any, what: str, name: str, value: Any) -> None:
    """Do one of them; what cannot be done to the tree as it is by now is left."""
    try:
        match what:
            case "put":
                status[name] = value
            case "drop":
                del status[name]
            case "below":
                status["network"][name] = value
            case "raise":
                status.raise_to(name, value)
            case "condition":
                status.conditions.set(name, value, reason="Said", message="by me")
            case "forget":
                status.conditions.remove(name)
            case "beside":
                status.entry("conditions", type=name)[value[0]] = value[1]
            case "entry":
                status.entry("parts", name=name)["up"] = value
            case "copy":  # a decision on what was read
                status["copied"] = str(status.get(name))
    except (KeyError, TypeError):
        pass

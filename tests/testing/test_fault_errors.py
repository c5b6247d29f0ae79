"""Faults and holds that could never match or happen: each is refused with a text that says what to write instead."""

from __future__ import annotations

from typing import Any

import pytest

from fiferail.testing import ApiServer

VERBS = "The verbs are get, list, watch, create, update (or replace), patch, delete, deletecollection."
ANSWERS = "Give a status code from 400 to 599, 200 together with latency=, or one of 'lost', 'dropped', 'stale', 'lagging'."
FIRST = "The CRD of a kind must be applied before a fault or hold names it."

#: Which request is meant: the same for faults and holds.
AIMS: dict[str, tuple[dict[str, Any], str]] = {
    "verb misspelt": ({"verb": "ptach"}, f"verb='ptach' is no verb of the API: did you mean 'patch'? {VERBS}"),
    "verb in capitals": ({"verb": "PATCH"}, f"verb='PATCH' is no verb of the API: did you mean 'patch'? {VERBS}"),
    "verb of HTTP": ({"verb": "PUT"}, f"verb='PUT' is no verb of the API: did you mean 'update'? {VERBS}"),
    "verb of kubectl": ({"verb": "apply"}, f"verb='apply' is no verb of the API: did you mean 'patch'? {VERBS}"),
    "verb unlike any": ({"verb": "xyz"}, f"verb='xyz' is no verb of the API. {VERBS}"),
    "verb empty": ({"verb": ""}, "verb='' matches nothing: leave verb= out to match every verb"),
    "verb no string": ({"verb": 3}, "verb=3 is not a string"),
    "kind in lower case": ({"kind": "gadget"}, f"kind='gadget' is not served: did you mean 'Gadget'? {FIRST}"),
    "kind misspelt": ({"kind": "Gagdet"}, f"kind='Gagdet' is not served: did you mean 'Gadget'? {FIRST}"),
    "kind of another group": (
        {"kind": "Gadget.faults.fiferail.io"},
        f"kind='Gadget.faults.fiferail.io' is not served: did you mean 'Gadget.faults.fiferail.dev'? {FIRST}",
    ),
    "kind unlike any": ({"kind": "Qqq"}, f"kind='Qqq' is not served. {FIRST}"),
    "kind empty": ({"kind": ""}, "kind='' matches nothing: leave kind= out to match every kind"),
    "name empty": ({"name": ""}, "name='' matches nothing: leave name= out to match every name"),
    "name no string": ({"name": None, "namespace": 7}, "namespace=7 is not a string"),
    "client empty": ({"client": ""}, "client='' matches nothing: leave client= out to match every client"),
    "namespace of a cluster-scoped kind": (
        {"kind": "Node", "namespace": "default"},
        "Node is cluster-scoped: leave namespace='default' out",
    ),
    "name of a deletecollection": (
        {"verb": "deletecollection", "name": "g"},
        "a deletecollection names no object: leave name='g' out, or use verb='delete'",
    ),
    "subresource misspelt": (
        {"kind": "Gadget", "subresource": "statsu"},
        "subresource='statsu' is no subresource of Gadget: did you mean 'status'? Gadget has status; '' is the object itself.",
    ),
    "subresource that the kind lacks": (
        {"kind": "Gadget", "subresource": "scale"},
        "subresource='scale' is no subresource of Gadget. Gadget has status; '' is the object itself.",
    ),
    "subresource of no kind": (
        {"subresource": "statsu"},
        "subresource='statsu' is no subresource of any kind that is served: did you mean 'status'? '' is the object itself.",
    ),
    "subresource no string": ({"subresource": 1}, "subresource=1 is not a string"),
    "subresource of a list": (
        {"verb": "list", "subresource": "status"},
        "there is no list of a subresource: leave subresource='status' out",
    ),
    "after no int": ({"after": "1"}, "after='1' is not an int"),
    "after a bool": ({"after": True}, "after=True is not an int"),
    "after negative": ({"after": -1}, "after=-1 is negative"),
}

#: What happens to it: faults only.
ANSWERED: dict[str, tuple[dict[str, Any], str]] = {
    "answer misspelt": ({"answer": "losst"}, f"answer='losst' is no answer: did you mean 'lost'? {ANSWERS}"),
    "answer unlike any": ({"answer": "x"}, f"answer='x' is no answer. {ANSWERS}"),
    "answer a success": ({"answer": 201}, f"answer=201 is no answer. {ANSWERS}"),
    "answer beyond the codes": ({"answer": 600}, f"answer=600 is no answer. {ANSWERS}"),
    "answer a bool": ({"answer": True}, f"answer=True is no answer. {ANSWERS}"),
    "answer nothing": ({"answer": None}, f"answer=None is no answer. {ANSWERS}"),
    "answer 200 alone": ({"answer": 200}, "answer=200 changes nothing by itself: give latency= too, or another answer"),
    "stale patch": (
        {"verb": "patch", "answer": "stale"},
        "answer='stale' is a list of the past: it needs verb='list', got verb='patch'",
    ),
    "stale without a verb": ({"answer": "stale"}, "answer='stale' is a list of the past: it needs verb='list', got no verb"),
    "lagging list": (
        {"verb": "list", "answer": "lagging"},
        "answer='lagging' delays the events of a watch: it needs verb='watch', got verb='list'",
    ),
    "dropped get": ({"verb": "get", "answer": "dropped"}, "answer='dropped' ends a watch: it needs verb='watch', got verb='get'"),
    "behind without stale": ({"behind": 2}, "behind=2 needs answer='stale' or answer='lagging', got answer=500"),
    "behind 0": ({"verb": "list", "answer": "stale", "behind": 0}, "behind=0 must be 1 or more"),
    "behind negative": ({"verb": "list", "answer": "stale", "behind": -1}, "behind=-1 is negative"),
    "times no int": ({"times": 1.0}, "times=1.0 is not an int"),
    "times negative": ({"times": -1}, "times=-1 is negative"),
    "latency negative": ({"latency": -0.1}, "latency=-0.1 is no number of seconds, 0 or more"),
    "latency endless": ({"latency": float("inf")}, "latency=inf is no number of seconds, 0 or more"),
    "latency no number": ({"latency": "1"}, "latency='1' is no number of seconds, 0 or more"),
    "retry_after of a lost answer": (
        {"answer": "lost", "retry_after": 1},
        "retry_after=1 needs a status code from 400 to 599 as answer, got answer='lost'",
    ),
    "retry_after negative": ({"answer": 429, "retry_after": -1}, "retry_after=-1 is negative"),
    "retry_after no int": ({"answer": 429, "retry_after": 1.5}, "retry_after=1.5 is not an int"),
    "optional no bool": ({"optional": "yes"}, "optional='yes' is not a bool"),
}


@pytest.mark.parametrize(("given", "text"), [*AIMS.values(), *ANSWERED.values()], ids=[*AIMS, *ANSWERED])
def test_a_fault_that_cannot_strike_is_refused(gadgets: ApiServer, given: dict[str, Any], text: str) -> None:
    """The error says what was wrong and what is possible, and no fault is left behind."""
    with pytest.raises(ValueError) as caught:
        gadgets.faults.next(**given)
    assert str(caught.value) == text
    assert gadgets.faults.given == []


@pytest.mark.parametrize(("given", "text"), AIMS.values(), ids=AIMS)
def test_a_hold_that_cannot_hold_is_refused(gadgets: ApiServer, given: dict[str, Any], text: str) -> None:
    """A hold is refused in the same words as a fault."""
    with pytest.raises(ValueError) as caught:
        gadgets.hold(**given)
    assert str(caught.value) == text


def test_a_type_checker_sees_what_is_misspelt(gadgets: ApiServer) -> None:
    """The parameters are typed: mypy reports each of these lines, or the comments on them would be unused."""
    with pytest.raises(ValueError):
        gadgets.faults.next(verb="ptach")  # type: ignore[arg-type]
    with pytest.raises(ValueError):
        gadgets.faults.next(answer="losst")  # type: ignore[arg-type]
    with pytest.raises(ValueError):
        gadgets.hold(verb="PATCH")  # type: ignore[arg-type]


def test_a_parameter_that_does_not_exist(gadgets: ApiServer) -> None:
    """A misspelt parameter is a TypeError, as with any function."""
    with pytest.raises(TypeError, match="unexpected keyword argument 'anwser'"):
        gadgets.faults.next(anwser=409)  # type: ignore[call-arg]


def test_a_crd_of_an_earlier_test_is_not_served(both: ApiServer) -> None:
    """A kind that this test has not applied cannot be named, though a real server still has its CRD."""
    with pytest.raises(ValueError, match="kind='Gadget' is not served"):
        both.faults.next(kind="Gadget", answer=500)


def test_a_kind_that_a_client_created_is_served_at_once(both: ApiServer) -> None:
    """A CRD that a client created can be named as soon as the create has been answered."""
    from .conftest import GADGETS

    both.client.create(GADGETS)
    both.faults.next(kind="Gadget", answer=500, optional=True)

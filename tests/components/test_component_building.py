"""What cannot be is refused when it is put together, with every reason at once."""

from __future__ import annotations

from typing import Any

import pytest

from fiferail.components import Component, ComponentInvalid, ConfigMap, Data, Deployment, Mutation, Secret, Static, Versions

HOST: Data[str] = Data("db-host", str)


def named(name: str = "a") -> Any:
    return {"metadata": {"name": name}}


def problems(*resources: Any, name: str = "web", condition: str = "WebReady", **options: Any) -> tuple[str, ...]:
    with pytest.raises(ComponentInvalid) as caught:
        Component(name, condition=condition, resources=resources, **options)
    return caught.value.problems


def test_every_problem_is_reported_at_once() -> None:
    """One build, one error, all reasons in it."""
    with pytest.raises(ComponentInvalid) as caught:
        Component(
            "", condition="", grace=-1, version="new", resources=[ConfigMap(named(), read_only=True, delete=True), ConfigMap(named())]
        )
    assert str(caught.value) == (
        "component '' cannot be:\n"
        "  expected a name, got none\n"
        "  expected a condition type, got none\n"
        "  expected a grace period of 0 seconds or more, got -1\n"
        "  expected a version like 1.2.3 or 2.0.0-rc.1, got 'new'\n"
        "  ConfigMap a: read_only does not go with delete\n"
        "  ConfigMap a is listed twice"
    )


def failing() -> bool:
    raise LookupError("the flag service is away")


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        pytest.param({"read_only": True, "delete": True}, ["read_only does not go with delete"], id="read-only and delete"),
        pytest.param({"read_only": True, "delete_when": False}, ["read_only does not go with delete_when"], id="read-only and delete-when"),
        pytest.param({"read_only": True, "gated_by": True}, ["read_only does not go with gated_by"], id="read-only and gate"),
        pytest.param({"read_only": True, "orphan_when": False}, ["read_only does not go with orphan_when"], id="read-only and orphan"),
        pytest.param(
            {"read_only": True, "block_on_foreign_controller": True},
            ["read_only does not go with block_on_foreign_controller"],
            id="read-only and foreign",
        ),
        pytest.param({"orphan_when": False, "delete": True}, ["orphan_when does not go with delete"], id="orphan and delete"),
        pytest.param({"orphan_when": True, "gated_by": True}, ["orphan_when does not go with gated_by"], id="orphan and gate"),
        pytest.param({"block_on_absence": True}, ["block_on_absence is for read_only resources"], id="absence without read-only"),
        pytest.param({"ignore_if_absent": True}, ["ignore_if_absent is for read_only resources"], id="ignoring without read-only"),
        pytest.param(
            {"read_only": True, "block_on_absence": True, "ignore_if_absent": True},
            ["block_on_absence does not go with ignore_if_absent"],
            id="both absences",
        ),
        pytest.param({"gated_by": failing}, ["its gate failed: the flag service is away"], id="a gate that fails"),
        pytest.param(
            {"gated_by": Versions("1.0", "new")},
            ["its gate failed: expected a range of versions like '>=1.2, <2.0.0 || 3.x', got 'new'"],
            id="a gate with a bad range",
        ),
    ],
)
def test_options_that_exclude_each_other_are_refused(options: dict[str, Any], expected: list[str]) -> None:
    """Given at all is enough, whatever the value."""
    assert problems(ConfigMap(named(), **options)) == tuple(f"ConfigMap a: {text}" for text in expected)


def test_a_reader_needs_an_earlier_producer() -> None:
    """Order is part of the meaning: a producer that comes later is none."""
    reader, producer = Secret(named("s"), guard=HOST), ConfigMap(named("c"), extract={HOST: lambda live: live})
    assert problems(reader, producer) == ('Secret s reads data "db-host", which no earlier resource yields',)
    assert Component("web", condition="WebReady", resources=[producer, reader]).resources == (producer, reader)


def test_a_mutation_that_reads_data_needs_an_earlier_producer_too() -> None:
    """Also where the resource does not wait for it."""
    peeking = Secret(named("s"), mutations=[Mutation("host", lambda obj: None, reads=(HOST,))])
    assert problems(peeking) == ('Secret s reads data "db-host", which no earlier resource yields',)


def test_a_cell_has_one_producer() -> None:
    """Two that fill it would make the reader's value a matter of luck."""
    take = {HOST: lambda live: live}
    assert problems(ConfigMap(named("a"), extract=take), ConfigMap(named("b"), extract=take)) == (
        'data "db-host" is yielded by ConfigMap a and by ConfigMap b',
    )


def test_a_mutation_for_versions_needs_a_version() -> None:
    """And a range that can be read."""
    gated = Deployment(named(), mutations=[Mutation("old", lambda obj: None, versions="<2.0.0")])
    assert problems(gated) == ("Deployment a: mutation 'old' is for versions '<2.0.0', but the component has no version=",)
    bad = Deployment(named(), mutations=[Mutation("old", lambda obj: None, versions="below 2")])
    assert problems(bad, version="1.0") == (
        "Deployment a: mutation 'old': expected a range of versions like '>=1.2, <2.0.0 || 3.x', got 'below 2'",
    )


def test_a_resource_has_to_say_what_it_is() -> None:
    """Kind, apiVersion and name; and a ready-made kind is not another one."""
    assert problems(Static({"metadata": {}})) == (
        "an object without a name: expected apiVersion, got none",
        "an object without a name: expected kind, got none",
        "an object without a name: expected metadata.name, got none",
    )
    assert problems(ConfigMap({"kind": "Secret", **named()})) == ("Secret a: expected a ConfigMap of v1, got a Secret of v1",)


def test_what_is_not_included_is_not_there() -> None:
    """Neither applied nor deleted, nor judged."""
    assert Component("web", condition="WebReady", resources=[ConfigMap({}, include_when=False)]).resources == ()


def test_the_topology_is_printed() -> None:
    """Who yields, who waits, and what is only read or on its way out."""
    port: Data[int] = Data("port", int)
    component = Component(
        "web",
        condition="WebReady",
        resources=[
            ConfigMap(named("c"), read_only=True, extract={HOST: lambda live: live, port: lambda live: live}),
            Secret(named("s"), guard=HOST, mutations=[Mutation("port", lambda obj: None, reads=(port,))]),
            ConfigMap(named("old"), delete=True),
        ],
    )
    assert component.topology() == (
        "web\n  ConfigMap c (read)  -> db-host: str  -> port: int\n  Secret s  <- db-host  <? port\n  ConfigMap old (delete)"
    )

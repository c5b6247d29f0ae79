"""`apiserver.assert_nothing_lost()`: what a test learns about the writers that it ran."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

import fiferail
from fiferail.testing.hazards.place import CRD, NEWER
from fiferail.testing.pooled import RealBackend
from fiferail.testing.server import ApiServer, EmbeddedBackend
from fiferail.wire import Request

GADGET = {"apiVersion": NEWER, "kind": "Gadget", "metadata": {"name": "g", "namespace": "default"}, "spec": {"size": 1}}


pytestmark = pytest.mark.xdist_group("fixture")


@pytest.fixture(params=["embedded", "real"])
def apiserver(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[ApiServer]:
    """The plugin's fixture on each server in turn: the embedded one tells the checker itself, the real one through its audit log."""
    backend: Any = (
        EmbeddedBackend() if request.param == "embedded" else RealBackend(request.getfixturevalue("_fiferail_real_world"), tmp_path)
    )
    yield ApiServer(backend)
    backend.close()


def _race(apiserver: Any, strategy: Any) -> None:
    """Two writers, each with its own condition, from the same read."""
    apiserver.apply(CRD, GADGET)
    clients = {name: apiserver.client_as(name) for name in ("controller", "reporter")}
    read = {name: client.get(NEWER, "Gadget", "g", namespace="default") for name, client in clients.items()}
    for (name, client), condition in zip(clients.items(), ("Ready", "Probed"), strict=True):
        writer = fiferail.StatusWriter(client, field_manager=name, strategy=strategy)
        with writer.session(read[name]) as status:
            status.conditions.set(condition, True, reason="Test")


def test_a_race_that_loses_something_fails_the_test_with_the_story(apiserver: Any) -> None:
    """The failure names the field, what was written, and both writers."""
    _race(apiserver, fiferail.MERGE)
    with pytest.raises(AssertionError) as failed:
        apiserver.assert_nothing_lost()
    first, second = str(failed.value).splitlines()
    assert first == "1 update lost"
    assert re.match(
        r"LOST status\.conditions\[Ready\] of gadgets default/g: controller wrote .*; reporter, based on resourceVersion \d+, overwrote it",
        second,
    )


CONDITION = {"status": "True", "reason": "Test", "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z"}
READY, PROBED, SYNCED = ({"type": type_, **CONDITION} for type_ in ("Ready", "Probed", "Synced"))
LATER = {**PROBED, "reason": "Later"}


def _write(client: Any, form: str, conditions: list[Any]) -> None:
    """Replace the list of conditions, in one of the forms that clients use."""
    if form == "merge":
        client.patch(GADGET, {"status": {"conditions": conditions}}, subresource="status")
    elif form == "json":
        client.patch(GADGET, [{"op": "add", "path": "/status/conditions", "value": conditions}], type="json", subresource="status")
    else:
        part = {"apiVersion": NEWER, "kind": "Gadget", "metadata": {"name": "g"}, "status": {"conditions": conditions}}
        client.patch(GADGET, part, type="apply", subresource="status", field_manager="operator", force=True)


def _watched(client: Any, since: str, until: str) -> None:
    """Receive the versions after one, up to another, by a watch."""
    for event, obj in client.watch(NEWER, "Gadget", namespace="default", resource_version=since, timeout_seconds=20):
        if event != "BOOKMARK" and obj["metadata"]["resourceVersion"] == until:
            return
    raise AssertionError(f"the watch did not deliver resourceVersion {until}")


def _operator_that_watches(apiserver: Any, form: str, added: list[Any], sent: list[Any]) -> None:
    """`operator` owns Probed and watches; `reporter` writes its conditions; `operator` receives them and then sends a list."""
    apiserver.apply(CRD, GADGET)
    operator, reporter = apiserver.client_as("operator/1.0"), apiserver.client_as("reporter/1.0")
    _write(reporter, "merge", [READY])
    _write(operator, "json", [READY, PROBED])
    read = operator.get(NEWER, "Gadget", "g", namespace="default")
    _write(reporter, "merge", added)
    newest = apiserver.get(NEWER, "Gadget", "g")["metadata"]["resourceVersion"]
    _watched(operator, read["metadata"]["resourceVersion"], newest)
    _write(operator, form, sent)


@pytest.mark.parametrize("form", ["merge", "json"])
def test_an_operator_that_watches_is_not_taken_to_know_what_it_received(apiserver: Any, form: str) -> None:
    """Read, wait, patch the old list: the condition that the watch delivered meanwhile is gone, and both writers are named."""
    _operator_that_watches(apiserver, form, [READY, PROBED, SYNCED], [READY, LATER])
    with pytest.raises(AssertionError) as failed:
        apiserver.assert_nothing_lost()
    first, second = str(failed.value).splitlines()
    assert first == "1 update lost"
    assert second.startswith("LOST (inferred) status.conditions[Synced] of gadgets default/g: reporter/1.0 wrote ")
    assert "; operator/1.0, based on resourceVersion " in second
    assert "Inferred: the missing entry is one that operator/1.0 never wrote." in second


def test_an_apply_of_a_copied_status_by_an_operator_that_watches(apiserver: Any) -> None:
    """Applied by force, another's condition is back at its old value."""
    changed = {**READY, "status": "False", "reason": "Down"}
    _operator_that_watches(apiserver, "apply", [changed, PROBED], [READY, LATER])
    with pytest.raises(AssertionError) as failed:
        apiserver.assert_nothing_lost()
    lost = sorted(str(failed.value).splitlines()[1:])
    assert [line.split(" of gadgets")[0] for line in lost] == [
        f"LOST (inferred) status.conditions[Ready].{member}" for member in ("reason", "status")
    ]  # fmt: skip


def test_an_operator_that_watches_and_sends_what_it_received_loses_nothing(apiserver: Any) -> None:
    """The list holds the other's condition: nothing is said, not even as possible."""
    _operator_that_watches(apiserver, "merge", [READY, PROBED, SYNCED], [READY, LATER, SYNCED])
    apiserver.assert_nothing_lost(possible="fail")


def test_a_possible_loss_is_printed_and_fails_on_request(apiserver: Any, capsys: pytest.CaptureFixture[str]) -> None:
    """An owner whose plain list lacks another's element may mean it."""
    apiserver.apply(CRD, GADGET)
    operator, reporter = apiserver.client_as("operator/1.0"), apiserver.client_as("reporter/1.0")
    operator.patch(GADGET, {"status": {"references": ["a"]}}, subresource="status")
    read = operator.get(NEWER, "Gadget", "g", namespace="default")
    reporter.get(NEWER, "Gadget", "g", namespace="default")
    reporter.patch(GADGET, {"status": {"references": ["a", "b"]}}, subresource="status")
    newest = apiserver.get(NEWER, "Gadget", "g")["metadata"]["resourceVersion"]
    _watched(operator, read["metadata"]["resourceVersion"], newest)
    operator.patch(GADGET, {"status": {"references": ["a", "c"]}}, subresource="status")
    apiserver.assert_nothing_lost()
    assert capsys.readouterr().out.startswith("POSSIBLY LOST status.references of gadgets default/g: reporter/1.0 wrote ")
    with pytest.raises(AssertionError, match=r"^1 update lost\nPOSSIBLY LOST status\.references of gadgets default/g: "):
        apiserver.assert_nothing_lost(possible="fail")
    with pytest.raises(ValueError, match=r'^possible must be "print" or "fail", got \'ignore\'$'):
        apiserver.assert_nothing_lost(possible="ignore")


class _Saying:
    """A transport of a process that says more about its writes than the server can see."""

    def __init__(self, transport: Any, said: dict[str, str]) -> None:
        self._transport, self._said = transport, said

    def send(self, request: Any, /, timeout: float | None = None) -> Any:
        extra = self._said if request.method == "PATCH" else {}
        return self._transport.send(msgspec.structs.replace(request, headers={**request.headers, **extra}), timeout=timeout)

    def stream(self, request: Any, /, timeout: float | None = None) -> Any:
        return self._transport.stream(request, timeout=timeout)


def _saying(apiserver: Any, name: str, **said: str) -> fiferail.Client:
    headers = {f"x-fiferail-{header}": value for header, value in said.items()}
    return fiferail.Client(_Saying(apiserver.client_as(name).transport, headers), user_agent=name)


def test_what_a_process_says_about_its_base_is_believed(apiserver: Any) -> None:
    """A writer that has read the newest version but decided on an older one loses the other's phase: certainly."""
    apiserver.apply(CRD, {**GADGET, "status": {"phase": "A"}})
    old = apiserver.get(NEWER, "Gadget", "g")["metadata"]["resourceVersion"]
    other = apiserver.client_as("other")
    other.get(NEWER, "Gadget", "g", namespace="default")
    other.patch(GADGET, {"status": {"phase": "B"}}, subresource="status")
    writer = _saying(apiserver, "writer", base=old, reads='["status.phase","metadata.annotations.\\"a key\\""]')
    writer.get(NEWER, "Gadget", "g", namespace="default")
    writer.patch(GADGET, {"status": {"phase": "C"}}, subresource="status")
    with pytest.raises(AssertionError) as failed:
        apiserver.assert_nothing_lost()
    lost = "\n".join(sorted(str(failed.value).splitlines()[1:]))
    assert f"Certain: writer says that it decided on resourceVersion {old}." in lost
    assert f'\nSTALE status.phase of gadgets default/g: writer decided on "A" as of resourceVersion {old}, but' in lost


def test_a_list_with_watch_false_is_no_watch(apiserver: Any) -> None:
    """Who has only listed is known to stand on what the list gave: its stale scalar is lost for certain."""
    apiserver.apply(CRD, {**GADGET, "status": {"phase": "A"}})
    one, two = apiserver.client_as("one"), apiserver.client_as("two")
    for client in (one, two):
        path = f"/apis/{NEWER}/namespaces/default/gadgets"
        client.transport.send(Request(method="GET", path=path, query=(("watch", "false"),)))
    one.patch(GADGET, {"status": {"phase": "B"}}, subresource="status")
    two.patch(GADGET, {"status": {"phase": "C"}}, subresource="status")
    with pytest.raises(AssertionError, match=r"Certain: two had received nothing newer than resourceVersion \d+\."):
        apiserver.assert_nothing_lost()


def test_a_process_may_name_itself(apiserver: Any) -> None:
    """Two processes with one user agent are two writers when they say who they are."""
    apiserver.apply(CRD, {**GADGET, "status": {"phase": "A"}})
    one, two = (_saying(apiserver, "python", actor=name) for name in ("one", "two"))
    one.patch(GADGET, {"status": {"phase": "B"}}, subresource="status")
    two.patch(GADGET, {"status": {"phase": "C"}}, subresource="status")
    with pytest.raises(AssertionError, match=r': one wrote "B" \(was "A"\) at resourceVersion \d+; two, without having read the object, '):
        apiserver.assert_nothing_lost()


def test_own_commits_that_a_process_says_it_knows_are_not_lost(apiserver: Any) -> None:
    """Several writes on one body in one handler: each knows the outcome of the one before."""
    apiserver.apply(CRD, {**GADGET, "status": {"phase": "A"}})
    old = apiserver.get(NEWER, "Gadget", "g")["metadata"]["resourceVersion"]
    first = _saying(apiserver, "writer", base=old).patch(GADGET, {"status": {"phase": "B"}}, subresource="status")
    known = first["metadata"]["resourceVersion"]
    _saying(apiserver, "writer", base=old, seen=f"7 {known}").patch(GADGET, {"status": {"phase": "C"}}, subresource="status")
    apiserver.assert_nothing_lost(possible="fail")
    _saying(apiserver, "writer", base=old).patch(GADGET, {"status": {"phase": "D"}}, subresource="status")
    with pytest.raises(AssertionError, match=r"writer, based on resourceVersion \d+, overwrote its own newer write"):
        apiserver.assert_nothing_lost()


def test_a_conflict_of_a_session_that_its_caller_swallows(apiserver: Any) -> None:
    """The session reads the object to explain the conflict: that is not its caller deciding again."""
    apiserver.apply(CRD, {**GADGET, "status": {"phase": "A"}})
    writer = _saying(apiserver, "writer", decides="once")
    read = writer.get(NEWER, "Gadget", "g", namespace="default")
    apiserver.client_as("other").patch(GADGET, {"status": {"phase": "B"}}, subresource="status")
    with pytest.raises(fiferail.Conflict), fiferail.StatusWriter(writer, field_manager="writer").session(read) as status:
        assert status["phase"] == "A"
        status["phase"] = "C"
    with pytest.raises(AssertionError, match=r'LOST status\.phase of .*: writer wanted "C", was refused \(JSON patch on /status\)'):
        apiserver.assert_nothing_lost()


def test_a_validation_error_is_no_lost_update(apiserver: Any) -> None:
    """A request that the schema refuses was refused because of itself, not because of another writer."""
    apiserver.apply(CRD, {**GADGET, "status": {"phase": "A"}})
    one = apiserver.client_as("one")
    one.get(NEWER, "Gadget", "g", namespace="default")
    with pytest.raises(fiferail.FiferailError):
        one.patch(GADGET, {"status": {"phase": 7}}, subresource="status")
    with pytest.raises(fiferail.FiferailError):
        one.patch(GADGET, [{"op": "add", "path": "/status/phase", "value": 7}], type="json", subresource="status")
    apiserver.assert_nothing_lost(possible="fail")


def test_the_same_race_with_the_default_strategy_passes(apiserver: Any) -> None:
    """Nothing is lost, so nothing is raised, however often it is asked."""
    _race(apiserver, fiferail.COMPARE)
    apiserver.assert_nothing_lost()
    apiserver.assert_nothing_lost()


def test_a_conflict_that_is_swallowed_fails_the_test(apiserver: Any) -> None:
    """An update that was refused and never made again is lost, though its writer was told."""
    apiserver.apply(CRD, {**GADGET, "status": {"phase": "Pending"}})
    one, two = apiserver.client_as("one"), apiserver.client_as("two")
    read = two.get(NEWER, "Gadget", "g", namespace="default")
    one.patch(GADGET, {"status": {"count": 1}}, subresource="status")
    with pytest.raises(fiferail.ApiError):
        two.replace({**read, "status": {"phase": "Failed"}}, subresource="status")
    with pytest.raises(AssertionError) as failed:
        apiserver.assert_nothing_lost()
    assert str(failed.value) == (
        '1 update lost\nLOST status.phase of gadgets default/g: two wanted "Failed", was refused (PUT on /status) and never sent it again. '
        'It is "Pending", as test left it. Handle the conflict: read the object, decide again, write.'
    )

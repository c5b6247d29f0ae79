"""The machine as a world: forks, compaction, transports, recordings."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from fiferail.apiserver.inprocess import AsyncTransport, Transport, request_of
from fiferail.apiserver.machine import Machine
from fiferail.apiserver.recording import Log
from fiferail.wire import MERGE_PATCH, Request, StreamRefused

CONFIGMAPS = "/api/v1/namespaces/default/configmaps"


def machine(**settings: Any) -> Machine:
    return Machine(clock=lambda: 1_700_000_000.0, **settings)


def config(name: str, **data: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data}


def put(transport: Transport, name: str, **data: str) -> int:
    return transport.send(request_of("POST", CONFIGMAPS, config(name, **data))).status


def names(transport: Transport) -> list[str]:
    items = transport.send(request_of("GET", CONFIGMAPS)).json()["items"]
    return [item["metadata"]["name"] for item in items]


def test_a_fork_sees_the_past_and_not_the_other_future() -> None:
    """Both sides of a fork keep what was there and see only their own writes."""
    world = Transport(machine())
    put(world, "before")
    twin = Transport(world.machine.fork())
    put(world, "here")
    put(twin, "there")
    assert names(world) == ["before", "here"]
    assert names(twin) == ["before", "there"]


def test_a_fork_goes_on_with_the_same_identities() -> None:
    """The same request on both sides of a fork gives the same object, uid and generated name included."""
    world = machine()
    twin = world.fork()
    request = request_of("POST", CONFIGMAPS, {"metadata": {"generateName": "x-"}})
    assert Transport(world).send(request).body == Transport(twin).send(request).body


def test_a_fork_has_its_own_kinds() -> None:
    """A kind that is unserved in a fork is still served in the original."""
    world = machine()
    twin = world.fork()
    del twin.kinds["", "configmaps"]
    assert Transport(world).send(request_of("GET", CONFIGMAPS)).status == 200
    assert Transport(twin).send(request_of("GET", CONFIGMAPS)).status == 404


def test_the_log_is_cut_and_old_watches_expire() -> None:
    """A table remembers a bounded number of events; a stream that fell behind gets one error and ends."""
    world = machine()
    world.store.keep = 10
    transport = Transport(world)
    stream = transport.open(request_of("GET", CONFIGMAPS, query=(("watch", "1"), ("resourceVersion", str(world.store.revision)))))
    for number in range(20):
        put(transport, f"n{number}")
    (line,) = stream.take()
    event = json.loads(line)
    assert event["type"] == "ERROR"
    assert event["object"]["reason"] == "Expired"
    assert event["object"]["code"] == 410
    assert stream.closed


def test_a_stream_delivers_in_order_and_tells_that_there_is_more() -> None:
    """Each commit wakes the listener, and events come in the order of their revisions."""
    transport = Transport(machine())
    stream = transport.open(request_of("GET", CONFIGMAPS, query=(("watch", "1"),)))
    woken: list[int] = []
    stream.on_ready = lambda: woken.append(1)
    for number in range(3):
        put(transport, f"n{number}")
    events = [json.loads(line) for line in stream.take()]
    revisions = [int(event["object"]["metadata"]["resourceVersion"]) for event in events]
    assert [event["type"] for event in events] == ["ADDED"] * 3
    assert revisions == sorted(revisions)
    assert len(woken) == 3
    assert stream.take() == []


def test_bookmarks_come_when_the_shell_asks() -> None:
    """A bookmark carries the current revision and nothing else."""
    world = machine()
    stream = Transport(world).open(request_of("GET", CONFIGMAPS, query=(("watch", "1"),)))
    stream.take()
    stream.bookmark()
    (line,) = stream.take()
    assert json.loads(line) == {
        "type": "BOOKMARK",
        "object": {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"resourceVersion": str(world.store.revision)}},
    }


def test_a_refused_watch_is_raised() -> None:
    """What cannot be watched is an answer, not a stream."""
    with pytest.raises(StreamRefused) as refused:
        Transport(machine()).open(request_of("GET", "/api/v1/nothings", query=(("watch", "1"),)))
    assert refused.value.answer.status == 404


def test_the_awaited_transport_waits_for_events() -> None:
    """An awaited stream delivers what is committed after it was opened."""

    async def scenario() -> list[str]:
        transport = Transport(machine())
        lines = AsyncTransport(transport).stream(request_of("GET", CONFIGMAPS, query=(("watch", "1"),)), timeout=5)
        first = asyncio.ensure_future(anext(lines))
        await asyncio.sleep(0)
        put(transport, "late")
        event = json.loads(await first)
        return [event["type"], event["object"]["metadata"]["name"]]

    assert asyncio.run(scenario()) == ["ADDED", "late"]


def test_everything_that_happens_is_recorded_by_actor() -> None:
    """Reads, commits and refusals carry who asked, what stood before and after, and the body."""
    log = Log()
    world = machine()
    world.recorder = log
    put(Transport(world, agent="alice/1"), "a", x="1")
    patch = Request(method="PATCH", path=f"{CONFIGMAPS}/a", body=b'{"data":{"x":"2"}}', content_type=MERGE_PATCH)
    Transport(world, agent="bob/1").send(patch)
    Transport(world, agent="carol/1").send(request_of("GET", f"{CONFIGMAPS}/a"))
    Transport(world, agent="bob/1").send(request_of("GET", f"{CONFIGMAPS}/b"))
    created, patched, read, refused = log.records
    assert (created.what, created.who.actor, created.verb, created.before) == ("commit", "alice/1", "create", None)
    assert patched.before is not None
    assert patched.after is not None
    assert (patched.who.manager, patched.before["data"], patched.after["data"]) == ("bob", {"x": "1"}, {"x": "2"})
    assert patched.body == b'{"data":{"x":"2"}}'
    assert (read.what, read.who.actor, read.objects[0]["data"]) == ("read", "carol/1", {"x": "2"})
    assert (refused.what, refused.code) == ("refused", 404)


def test_a_rehearsal_and_a_no_op_are_not_commits() -> None:
    """Nothing is recorded as a commit, and the revision stays, when nothing was stored."""
    log = Log()
    world = machine()
    transport = Transport(world)
    put(transport, "a", x="1")
    revision = world.store.revision
    world.recorder = log
    patch = Request(method="PATCH", path=f"{CONFIGMAPS}/a", body=b'{"data":{"x":"1"}}', content_type=MERGE_PATCH)
    assert transport.send(patch).status == 200
    dry = Request(
        method="PATCH", path=f"{CONFIGMAPS}/a", query=(("dryRun", "All"),), body=b'{"data":{"x":"9"}}', content_type=MERGE_PATCH
    )
    assert transport.send(dry).json()["data"] == {"x": "9"}
    assert [record.what for record in log.records] == []
    assert world.store.revision == revision
    assert transport.send(request_of("GET", f"{CONFIGMAPS}/a")).json()["data"] == {"x": "1"}

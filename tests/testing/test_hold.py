"""`apiserver.hold`, on both servers: a request waits at the server while others are served."""

from __future__ import annotations

import asyncio
import json
import re
import subprocess
import sys
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import pytest

import fiferail
from fiferail.testing import ApiServer, Seen

from .conftest import API, named

Resize = Callable[..., Any]
PATH = "/apis/faults.fiferail.dev/v1/namespaces/default/gadgets/g"


@pytest.fixture
def beside() -> Any:
    """Runs a function in a thread of its own; what it returns or raises is the future's."""
    with ThreadPoolExecutor(max_workers=4) as pool:
        yield pool.submit


def size(api: ApiServer, name: str = "g") -> int:
    found: int = api.get(API, "Gadget", name)["spec"]["size"]
    return found


def test_a_request_waits_while_others_are_served(gadgets: ApiServer, resize: Resize, beside: Any) -> None:
    """The held patch lands after the block, and its client can do other things meanwhile."""
    operator = gadgets.client_as("operator")
    with gadgets.hold(verb="patch", kind="Gadget", client="operator") as held:
        patch: Future[Any] = beside(resize, gadgets, 5, client=operator)
        assert held.wait().path == PATH
        resize(gadgets, 3)
        assert operator.get(API, "Gadget", "g", namespace="default")["spec"] == {"size": 3}
        assert (size(gadgets), patch.done()) == (3, False)
    assert size(gadgets) == 5
    assert patch.result(10)["spec"] == {"size": 5}


def test_what_is_held(gadgets: ApiServer, resize: Resize, beside: Any) -> None:
    """wait returns the request: what it asks, its body, and who sent it. It has no answer yet."""
    with gadgets.hold(verb="patch", kind="Gadget", name="g", namespace="default", subresource="status") as held:
        assert held.request is None
        beside(gadgets.client_as("operator").patch, named(), {"status": {"phase": "Up"}}, subresource="status", field_manager="op")
        seen = held.wait(timeout=10)
        assert isinstance(seen, Seen)
        assert (seen.method, seen.path, seen.verb, seen.agent) == ("PATCH", f"{PATH}/status", "patch", "operator")
        assert (json.loads(seen.body), dict(seen.query), seen.code) == ({"status": {"phase": "Up"}}, {"fieldManager": "op"}, 0)
        assert held.request == seen
        assert "status" not in gadgets.get(API, "Gadget", "g")
    assert gadgets.get(API, "Gadget", "g")["status"] == {"phase": "Up"}
    assert [seen.code for seen in gadgets.requests if seen.agent == "operator" and seen.verb == "patch"] == [200]


def test_only_the_first_request_is_held(gadgets: ApiServer, resize: Resize, beside: Any) -> None:
    """A second request that fits is served at once."""
    with gadgets.hold(verb="patch", kind="Gadget") as held:
        beside(resize, gadgets, 5)
        held.wait()
        assert resize(gadgets, 3)["spec"] == {"size": 3}
    assert size(gadgets) == 5


def test_after_lets_requests_pass(gadgets: ApiServer, resize: Resize, beside: Any) -> None:
    """With after=1 the second request that fits is held."""
    with gadgets.hold(verb="patch", kind="Gadget", after=1) as held:
        resize(gadgets, 3)
        beside(resize, gadgets, 5)
        assert json.loads(held.wait().body) == {"spec": {"size": 5}}
        assert size(gadgets) == 3
    assert size(gadgets) == 5


def test_two_holds_hold_two_requests(gadgets: ApiServer, resize: Resize, beside: Any) -> None:
    """Each hold keeps one request, and they are let go in the order that the test wants."""
    with gadgets.hold(verb="patch", kind="Gadget", client="one") as one, gadgets.hold(verb="patch", kind="Gadget") as two:
        beside(resize, gadgets, 3, client=gadgets.client_as("one"))
        one.wait()
        beside(resize, gadgets, 4, client=gadgets.client_as("two"))
        assert two.wait().agent == "two"
        two.release()
        assert size(gadgets) == 4
        one.release()
        assert size(gadgets) == 3


def test_release_before_the_end(gadgets: ApiServer, resize: Resize, beside: Any) -> None:
    """When release returns, the request has been processed; the end of the block has nothing left to do."""
    with gadgets.hold(verb="patch", kind="Gadget") as held:
        beside(resize, gadgets, 5)
        held.wait()
        held.release()
        assert size(gadgets) == 5
        resize(gadgets, 6)
    assert size(gadgets) == 6


def test_a_held_request_meets_its_fault_afterwards(gadgets: ApiServer, resize: Resize, beside: Any) -> None:
    """A fault strikes when the request is let go."""
    fault = gadgets.faults.next(verb="patch", kind="Gadget", answer=403)
    with gadgets.hold(verb="patch", kind="Gadget") as held:
        patch = beside(resize, gadgets, 5)
        held.wait()
        assert fault.struck == 0
    assert fault.struck == 1
    with pytest.raises(fiferail.Forbidden):
        patch.result(10)


def test_the_fixtures_own_requests_are_never_held(gadgets: ApiServer, beside: Any) -> None:
    """apply, get, list and wait_for pass a hold of everything."""
    with gadgets.hold() as held:
        gadgets.apply(named("second"))
        gadgets.wait_for(API, "Gadget", "second", lambda obj: size(gadgets, "second") == 1)
        assert len(gadgets.list(API, "Gadget")) == 2
        beside(gadgets.client_as("operator").get, API, "Gadget", "g", namespace="default")
        assert held.wait().agent == "operator"


def test_a_watch_can_be_held(gadgets: ApiServer, resize: Resize, beside: Any) -> None:
    """A watch that is held opens after the block, and then delivers from where it was asked to."""
    begin = gadgets.get(API, "Gadget", "g")["metadata"]["resourceVersion"]

    def watch() -> Any:
        events = gadgets.client_as("operator").watch(API, "Gadget", namespace="default", resource_version=begin, timeout_seconds=10)
        return next(iter(events))[1]["spec"]

    with gadgets.hold(verb="watch", kind="Gadget") as held:
        first = beside(watch)
        held.wait()
        resize(gadgets, 2)
    assert first.result(10) == {"size": 2}


def test_a_client_that_gives_up_writes_nothing(gadgets: ApiServer) -> None:
    """A request whose client closed the connection while it was held is not processed."""
    from fiferail.testing.transport import HttpTransport
    from fiferail.wire import MERGE_PATCH, Request

    request = Request(method="PATCH", path=PATH, body=b'{"spec":{"size":5}}', content_type=MERGE_PATCH)
    with gadgets.hold(verb="patch", kind="Gadget") as held:
        with pytest.raises(TimeoutError):
            HttpTransport(gadgets.url).send(request, timeout=0.2)
        assert held.wait().method == "PATCH"
    assert size(gadgets) == 1


async def test_async_code_awaits_the_arrival(gadgets: ApiServer) -> None:
    """The event loop runs on while a request of the same loop is held."""
    operator = fiferail.connect_async(gadgets.kubeconfig)
    async with operator as client:
        with gadgets.hold(verb="patch", kind="Gadget") as held:
            patch = asyncio.ensure_future(client.patch(named(), {"spec": {"size": 5}}))
            seen = await held.arrived(timeout=10)
            assert (seen.verb, patch.done()) == ("patch", False)
            assert (await held.arrived()) == seen
            assert (await client.get(API, "Gadget", "g", namespace="default"))["spec"] == {"size": 1}
        assert (await patch)["spec"] == {"size": 5}


async def test_async_wait_in_vain(gadgets: ApiServer) -> None:
    """An await that times out raises the same error as a wait."""
    text = r"no request arrived at the hold of patch Gadget within 0\.05 s: no request came but the fixture's own\."
    with pytest.raises(AssertionError, match=text), gadgets.hold(verb="patch", kind="Gadget") as held:
        await held.arrived(timeout=0.05)


OPERATOR = """
import sys, fiferail
with fiferail.connect(sys.argv[1]) as client:
    gadget = client.get("faults.fiferail.dev/v1", "Gadget", "g", namespace="default")
    client.patch(gadget, {"spec": {"size": gadget["spec"]["size"] + 1}})
"""


def test_an_operator_in_a_process_of_its_own(gadgets: ApiServer, resize: Resize) -> None:
    """A subprocess is held between its read and its write, so that its stale write wins."""
    with gadgets.hold(verb="patch", kind="Gadget") as held:
        operator = subprocess.Popen([sys.executable, "-c", OPERATOR, str(gadgets.kubeconfig)])
        held.wait(timeout=30)
        gadgets.apply(named(spec={"size": 7}))
    assert operator.wait(30) == 0
    assert size(gadgets) == 2


def test_the_race_that_a_hold_is_for(gadgets: ApiServer) -> None:
    """A merge patch that is held while another condition is added loses it, and the checker names both writers."""

    def operator() -> None:
        client = gadgets.client_as("operator")
        gadget = client.get(API, "Gadget", "g", namespace="default")
        conditions = [*gadget["status"]["conditions"], {"type": "Ready", "status": "True"}]
        client.patch(gadget, {"status": {"conditions": conditions}}, subresource="status")

    gadgets.client_as("setup").patch(named(), {"status": {"conditions": []}}, subresource="status")
    running = threading.Thread(target=operator)
    with gadgets.hold(verb="patch", kind="Gadget", client="operator") as held:
        running.start()
        held.wait()
        reporter = gadgets.client_as("reporter")
        gadget = reporter.get(API, "Gadget", "g", namespace="default")
        reporter.patch(gadget, {"status": {"conditions": [{"type": "Probed", "status": "True"}]}}, subresource="status")
    running.join()
    with pytest.raises(AssertionError) as lost:
        gadgets.assert_nothing_lost()
    assert re.search(r"LOST status\.conditions\[Probed\] of gadgets default/g: reporter wrote .*operator", str(lost.value), re.S)


# Holds at which nothing arrives


def test_wait_in_vain(gadgets: ApiServer, resize: Resize) -> None:
    """The error names the hold and the requests that came closest, with what differed."""
    hold = gadgets.hold(verb="patch", kind="Gadget", subresource="status", client="operator")
    with pytest.raises(AssertionError) as caught, hold as held:
        resize(gadgets, 2)
        resize(gadgets, 3, client=gadgets.client_as("operator"))
        held.wait(timeout=0.05)
    assert str(caught.value) == (
        'no request arrived at the hold of patch Gadget/status by "operator" within 0.05 s: no such request came. '
        'The closest: 1 x patch Gadget default/g by "operator" (other subresource).'
    )


def test_a_block_at_which_nothing_arrived(gadgets: ApiServer) -> None:
    """A block that ends without its request fails, because nothing was tested."""
    with pytest.raises(AssertionError) as caught, gadgets.hold(verb="patch", kind="Gadget"):
        gadgets.get(API, "Gadget", "g")
    assert str(caught.value) == (
        "no request arrived at the hold of patch Gadget before its block ended: no request came but the fixture's own. "
        "Call held.wait() inside the block to wait for the request."
    )


def test_an_error_in_the_block_is_not_masked(gadgets: ApiServer, resize: Resize) -> None:
    """The test's own error leaves the block, and nothing is held afterwards."""
    with pytest.raises(ZeroDivisionError), gadgets.hold(verb="patch", kind="Gadget"):
        1 / 0
    assert resize(gadgets)["spec"] == {"size": 2}


def test_an_error_in_the_block_lets_the_request_go(gadgets: ApiServer, resize: Resize, beside: Any) -> None:
    """A held request is let go when the block ends with an error."""
    with pytest.raises(ZeroDivisionError), gadgets.hold(verb="patch", kind="Gadget") as held:
        patch = beside(resize, gadgets, 5)
        held.wait()
        1 / 0
    assert patch.result(10)["spec"] == {"size": 5}


def test_a_hold_is_a_block(gadgets: ApiServer) -> None:
    """A hold that was not entered, or is entered twice, says how it is used."""
    held = gadgets.hold(verb="patch", kind="Gadget")
    for use in (held.wait, held.release):
        with pytest.raises(RuntimeError, match=r"the hold has not begun: use it as `with apiserver\.hold\(\.\.\.\) as held:`"):
            use()
    with pytest.raises(AssertionError, match="no request arrived"), held:
        pass
    with pytest.raises(RuntimeError, match=r"a hold serves for one block: call apiserver\.hold again"), held:
        pass

"""The differential fuzzer: a fixed set of seeds on both servers, the kept cases, and that it would find a defect."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from fiferail.testing.differential import canonical, cases, compare, known, servers
from fiferail.testing.differential.conversations import Conversation, Step
from fiferail.testing.differential.runner import Heard, Run, Server
from fiferail.testing.differential.session import ONCE, Session
from fiferail.testing.embedded import in_process
from fiferail.wire import Answer, Request, Transport

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.xdist_group("fuzz")
SEEDS = (1001, 1002, 1003, 1004, 1005)
CASES = sorted((Path(__file__).parent / "cases").glob("*.json"))


@pytest.fixture(scope="module")
def session(request: pytest.FixtureRequest) -> Iterator[Session]:
    """The embedded server against the real one."""
    if request.config.getoption("--fiferail-no-real"):
        pytest.skip("needs a real kube-apiserver, and --fiferail-no-real was given")
    with servers.real() as right, servers.embedded() as left:
        yield Session(left, right, say=lambda text: None)


@pytest.mark.parametrize("seed", SEEDS)
def test_seed(session: Session, seed: int) -> None:
    """Both servers say the same in every conversation of the seed."""
    before = set(session.tally.findings)
    session.batch(seed, kinds=8, conversations=4, length=30)
    fresh = [finding.text for signature, finding in session.tally.findings.items() if signature not in before]
    assert not fresh, "\n\n".join(fresh)


@pytest.mark.parametrize("file", CASES, ids=[file.stem for file in CASES])
def test_case(session: Session, file: Path) -> None:
    """A conversation that once showed a difference shows none."""
    made = cases.load(file)
    for server in (session.left, session.right):
        server.define(made.crds)
    difference, _ = session.judge(made)
    assert difference is None, f"{difference}"


class Defective:
    """A server with one defect: a merge patch that sets `spec.selected` to "red" says another generation."""

    def __init__(self, inner: Transport) -> None:
        self._inner = inner

    def send(self, request: Request, /, timeout: float | None = None) -> Answer:
        answer = self._inner.send(request, timeout)
        if request.content_type.startswith("application/merge") and b'"selected": "red"' in request.body and answer.status == 200:
            body = json.loads(answer.body)
            body["metadata"]["generation"] = 99
            return Answer(200, json.dumps(body).encode(), answer.headers)
        return answer

    def stream(self, request: Request, /, timeout: float | None = None) -> Iterator[bytes]:
        return self._inner.stream(request, timeout)


def test_finds_and_shrinks_a_planted_defect() -> None:
    """A defect is found, and its conversation shrunk to the steps and members that it needs."""
    with in_process() as sound, in_process() as inner:
        session = Session(Server("defective", Defective(inner)), Server("sound", sound), say=lambda text: None)
        for seed in range(1, 20):
            session.batch(seed, kinds=3, conversations=3, length=30)
            if session.tally.findings:
                break
    (finding, *_) = session.tally.findings.values()
    assert finding.conversation is not None
    make, patch = finding.conversation.steps
    assert make.method in ("POST", "PATCH")
    assert (patch.method, patch.type, patch.query, patch.body) == ("PATCH", "merge", {}, {"spec": {"selected": "red"}})
    assert "defective and sound differ at step 2, .body.metadata.generation" in finding.text
    assert 'defective: "99"' in finding.text


def test_two_sound_servers_agree() -> None:
    """The same server twice shows no difference: nothing that is compared depends on which one answers."""
    with in_process() as one, in_process() as two:
        session = Session(Server("one", one), Server("two", two), say=lambda text: None)
        session.batch(7, kinds=4, conversations=3, length=40)
    assert session.tally.conversations >= 6  # of 12: kinds that the server refuses are left out
    assert session.tally.findings == {}


def test_seeds_reproduce() -> None:
    """The same seed gives the same kinds and conversations."""
    import random

    from fiferail.testing.differential.conversations import conversation
    from fiferail.testing.differential.schemas import definition

    def made() -> bytes:
        rng = random.Random(42)
        return msgspec.json.encode(conversation(rng, definition(rng, 0), 50))

    assert made() == made()


def test_cases_survive_the_disk(tmp_path: Path) -> None:
    """A conversation saved and loaded is the same."""
    step = Step("PUT", "v1/xs/a", query={"a": "b"}, base="a", edits=[(["spec", 0], {"x": None})])
    made = Conversation(crds=[{"spec": {}}], steps=[step], plural="xs", watch={"labelSelector": "a=b"}, origin="here")
    cases.save(tmp_path / "case.json", made)
    assert cases.load(tmp_path / "case.json") == made


@pytest.mark.parametrize(
    ("left", "right", "expected"),
    [
        ({"a": [1, 2]}, {"a": [1, 3]}, (".a[1]", 2, 3)),
        ({"a": 1}, {"b": 1}, (".a", 1, "<absent>")),
        ([1], [1, 2], ("[1]", "<absent>", 2)),
        ({"a": canonical.Number("1.0")}, {"a": canonical.Number("1")}, (".a", "1.0", "1")),
        ({"a": "1"}, {"a": canonical.Number("1")}, (".a", "1", "1")),
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}, None),
    ],
    ids=["element", "member", "length", "spelling of a number", "text and number", "order of members"],
)
def test_first_difference(left: Any, right: Any, expected: Any) -> None:
    """Two trees differ at the first place that JSON tells apart."""
    assert compare.differing(left, right) == expected


def test_order_of_causes_in_a_message_does_not_count() -> None:
    """Two refusals whose messages tell the same causes in another order are the same, also when a cause is listed twice."""
    fixed = {"field": "metadata.uid", "message": "fixed"}
    causes = [fixed, fixed, {"field": "a", "message": "bad"}]

    def said(*parts: str) -> Any:
        body = {"kind": "Status", "message": f'K "a" is invalid: [{", ".join(parts)}]', "details": {"causes": causes}}
        heard = Heard(Request(method="GET", path="/"), 422, json.dumps(body).encode(), {})
        return canonical.Canon(Run(heard=[heard]), "none").answer(0, heard)

    assert said("metadata.uid: fixed", "a: bad") == said("a: bad", "metadata.uid: fixed")
    assert said("metadata.uid: fixed", "a: bad") != said("metadata.uid: fixed", "a: worse")


@pytest.mark.parametrize(
    ("left", "right", "named"),
    [
        ('Deployment.apps "a" is invalid: x: Invalid value: null: no', 'Deployment.apps "a" is invalid: x: Invalid value: {}: no', True),
        ('Deployment.apps "a" is invalid: x: Invalid value: null: no', 'Deployment.apps "a" is invalid: x: Invalid value: {}: yes', False),
        ('K.fuzz.fiferail.dev "a" is invalid: x: Invalid value: null', 'K.fuzz.fiferail.dev "a" is invalid: x: Invalid value: {}', False),
    ],
    ids=["built-in kind", "another text", "custom resource"],
)
def test_empty_shown_as_null_is_a_limit_of_built_in_kinds(left: str, right: str, named: bool) -> None:
    """A refusal that shows null for something empty is passed over for built-in kinds, and for nothing else."""
    difference = compare.Difference(0, ".body.message", left, right, {"code": 422}, {"code": 422}, "")
    assert (known.limit(difference) is not None) is named


def test_a_list_of_a_forgotten_version_is_a_limit() -> None:
    """The real server compacts by its clock: 410 Expired there, the list here. Any other 410 is a difference."""
    named = [
        known.limit(compare.Difference(0, ".code", 200, 410, {"code": 200}, {"code": 410, "body": {"reason": reason}}, ""))
        for reason in ("Expired", "Gone")
    ]
    assert [name is not None for name in named] == [True, False]


class DefectiveOnce(Defective):
    """The same, but only the first time."""

    def send(self, request: Request, /, timeout: float | None = None) -> Answer:
        before = self._inner
        answer = super().send(request, timeout)
        if b'"generation": 99' in answer.body:
            self.send = before.send  # type: ignore[method-assign]
        return answer


def test_what_does_not_come_again_is_counted_apart() -> None:
    """Held again three times without it: a second that passed on one of the two clocks, not a difference."""
    with in_process() as sound, in_process() as inner:
        session = Session(Server("once", DefectiveOnce(inner)), Server("sound", sound), say=lambda text: None)
        for seed in range(1, 20):
            session.batch(seed, kinds=3, conversations=3, length=30)
            if session.tally.explained.get(ONCE):
                break
    assert session.tally.explained[ONCE] == 1
    assert session.tally.findings == {}

"""Records from an audit log: a few events as a kube-apiserver writes them, and the verdict on a real one's."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fiferail.apiserver.real import build
from fiferail.apiserver.real.launch import RealServer
from fiferail.cli import main
from fiferail.history.auditlog import UNSEEN, records
from fiferail.history.checker import Checker
from fiferail.history.records import Commit
from fiferail.history.words import explain
from fiferail.testing.hazards.faultplaces import serve_crd
from fiferail.testing.hazards.matrix import LOST, run
from fiferail.testing.hazards.place import Place
from fiferail.testing.hazards.scenarios import HAZARDS
from fiferail.testing.hazards.ways import WAYS
from fiferail.testing.transport import HttpTransport


class Log:
    """Audit events, one a second unless told otherwise."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self._second = 0

    def event(self, agent: str, verb: str, answer: Any, body: Any = None, *, code: int = 200, sent: int | None = None) -> Log:
        self._second += 1
        about = {"resource": "gadgets", "apiGroup": "example.io", "namespace": "default", "name": "g", "subresource": "status"}
        self.lines.append(
            json.dumps(
                {
                    "kind": "Event", "level": "RequestResponse", "stage": "ResponseStarted" if verb == "watch" else "ResponseComplete",
                    "requestURI": "/", "verb": verb, "userAgent": agent, "objectRef": about, "responseStatus": {"code": code},
                    "requestObject": body, "responseObject": answer,
                    "requestReceivedTimestamp": f"2026-01-01T00:00:{self._second if sent is None else sent:02d}.000000Z",
                    "stageTimestamp": f"2026-01-01T00:00:{self._second:02d}.500000Z",
                }
            )
        )  # fmt: skip
        return self

    def told(self) -> list[str]:
        checker = Checker()
        for record in records(self.lines):
            checker.feed(record)
        checker.finish()
        return [explain(finding) for finding in checker.findings]


def gadget(version: int, **status: Any) -> Any:
    metadata = {"name": "g", "namespace": "default", "uid": "u", "resourceVersion": str(version)}
    return {"apiVersion": "example.io/v1", "kind": "Gadget", "metadata": metadata, "status": status}


def _started() -> Log:
    log = Log().event("maker", "create", gadget(5), code=201)
    return log.event("one", "get", gadget(5)).event("two", "get", gadget(5))


def test_a_loss_is_found_in_a_log() -> None:
    """Reads and answers say what each client knew, and the log says what it sent."""
    log = _started().event("one", "patch", gadget(6, phase="A"), {"status": {"phase": "A"}})
    log.event("two", "patch", gadget(7, phase="B"), {"status": {"phase": "B"}})
    assert log.told() == [
        'CREATED TWICE status.phase of gadgets default/g: one wrote "A" (was nothing) at 6; two, based on 5, wrote a value that it had '
        'computed from an older version: patch merge on status at 7 left "B".'
    ]


def test_versions_count_not_the_order_of_the_answers() -> None:
    """A write that landed first may be answered last."""
    log = _started().event("two", "patch", gadget(7, phase="B"), {"status": {"phase": "B"}}, sent=3)
    log.event("one", "patch", gadget(6, phase="A"), {"status": {"phase": "A"}}, sent=3)
    assert [(r.actor, r.version) for r in records(log.lines) if isinstance(r, Commit)] == [("maker", 5), ("one", 6), ("two", 7)]
    assert len(log.told()) == 1


def test_a_client_that_watches_is_taken_to_know_what_was_committed() -> None:
    """What a watch brought is not in the log, so nothing uncertain is reported."""
    log = _started().event("two", "watch", None).event("one", "patch", gadget(6, phase="A"), {"status": {"phase": "A"}})
    assert log.event("two", "patch", gadget(7, phase="B"), {"status": {"phase": "B"}}).told() == []


def test_a_refused_write_that_never_comes_again_is_told() -> None:
    """Conflicts are in the log too."""
    log = _started().event("one", "patch", gadget(6, phase="A"), {"status": {"phase": "A"}})
    log.event("two", "update", {"kind": "Status"}, gadget(5, phase="B"), code=409)
    assert log.told() == ['LOST status.phase of gadgets default/g: two wanted "B", was refused and never tried again; it is "A".']


def test_a_version_without_a_write_belongs_to_nobody_known() -> None:
    """A log that begins late, or a gap in it, blames no client for what it does not show."""
    log = Log().event("one", "get", gadget(5, phase="A")).event("two", "get", gadget(7, phase="B"))
    assert [(r.actor, r.version) for r in records(log.lines) if isinstance(r, Commit)] == [(UNSEEN, 7)]


def test_lines_that_are_no_events_are_passed_over() -> None:
    """Logs are cut, rotated and mixed."""
    assert records(['{"kind":"Event"', "", "[]", '{"kind":"Pod"}', '{"kind":"Event","stage":"ResponseComplete","verb":"get"}']) == []


def test_the_command_reads_a_log(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Findings, a count, exit code 1; 2 where there is nothing to check."""
    log = _started().event("one", "patch", gadget(6, phase="A"), {"status": {"phase": "A"}})
    log.event("two", "patch", gadget(7, phase="B"), {"status": {"phase": "B"}})
    file = tmp_path / "audit.log"
    file.write_text("\n".join(log.lines))
    assert _code("check", str(file)) == 1
    assert capsys.readouterr().out.splitlines()[-1] == "fiferail: 1 update lost in 3 writes by 3 clients"
    file.write_text("\n".join(_started().lines))
    assert _code("check", str(file)) == 0
    assert capsys.readouterr().out == "fiferail: nothing lost in 1 write by 1 client\n"
    file.write_text("")
    assert _code("check", str(file)) == 2
    assert "must have the level RequestResponse" in capsys.readouterr().err
    assert _code("check", str(tmp_path / "none")) == 2
    assert capsys.readouterr().err == f"fiferail: cannot read {tmp_path / 'none'}: No such file or directory\n"


def _code(*arguments: str) -> int:
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    return int(ended.value.code or 0)


@pytest.fixture(scope="module")
def audited(request: pytest.FixtureRequest) -> Iterator[RealServer]:
    """A real server that writes everything into its audit log."""
    if request.config.getoption("--fiferail-no-real"):
        pytest.skip("needs a real kube-apiserver, and --fiferail-no-real was given")
    binaries = build.ensure()
    with RealServer(binaries=binaries, audit_log=True) as server:
        yield server


#: What the log cannot show: reads that only the process knows of, writes that are never sent, and idle ones.
_TOLD_BY_THE_PROCESS = {"increment", "laundered base", "resurrection", "stale no-op", "hot loop", "cleared plan"}


def test_the_log_of_a_real_server_shows_the_losses_of_the_matrix(audited: RealServer) -> None:
    """Every losing cell is found in the audit log of a real kube-apiserver, and none of the default strategy but the older version."""
    context = audited.ssl_context()
    place = Place(lambda actor: HttpTransport(audited.url, token=audited.token, context=context, user_agent=actor))
    serve_crd(place)
    lost, safe = set(), set()
    for hazard in HAZARDS:
        for make in WAYS:
            way = make()
            before = place.fresh_name()
            verdict = run(hazard, way, place)
            name = f"g{int(before[1:]) + 1}"
            if verdict.word == LOST and hazard.name not in _TOLD_BY_THE_PROCESS:
                lost.add(name)
            if way.name == "COMPARE" and hazard.name != "older version":
                safe.add(name)
    checker = Checker()
    for record in records(audited.audit_log_file.read_bytes().splitlines()):
        checker.feed(record)
    checker.finish()
    found = {finding.object.name: explain(finding) for finding in checker.findings if finding.is_loss}
    assert len(lost) > 40
    assert sorted(lost - set(found)) == []
    assert {name: found[name] for name in safe & set(found)} == {}

"""Records from an audit log: a few events as a kube-apiserver writes them, and the verdict on a real one's."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from fiferail.apiserver.real import build
from fiferail.apiserver.real.launch import RealServer
from fiferail.cli import main
from fiferail.history.auditlog import UNSEEN, MalformedLine, records
from fiferail.history.checker import Checker
from fiferail.history.records import Commit, Said
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
                    "requestReceivedTimestamp": f"{_time(self._second if sent is None else sent)}.000000Z",
                    "stageTimestamp": f"{_time(self._second)}.500000Z",
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


def _time(second: int) -> str:
    return (datetime(2026, 1, 1) + timedelta(seconds=second)).isoformat()


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
        'CREATED TWICE status.phase of gadgets default/g: one wrote "A" (was nothing) at resourceVersion 6; two, based on '
        "resourceVersion 5, replaced it by a value computed from that older version (merge patch on /status, resourceVersion 7). It is now "
        '"B". Certain: two '
        "had received nothing newer than resourceVersion 5. Send the resourceVersion that was read, or a JSON patch that tests the field, "
        "and decide again when it is refused."
    ]


def test_versions_count_not_the_order_of_the_answers() -> None:
    """A write that landed first may be answered last."""
    log = _started().event("two", "patch", gadget(7, phase="B"), {"status": {"phase": "B"}}, sent=3)
    log.event("one", "patch", gadget(6, phase="A"), {"status": {"phase": "A"}}, sent=3)
    assert [(r.actor, r.version) for r in records(log.lines) if isinstance(r, Commit)] == [("maker", 5), ("one", 6), ("two", 7)]
    assert len(log.told()) == 1


def test_the_scalar_of_a_client_that_watches_may_be_a_decision() -> None:
    """What a watch brought is not in the log, and a scalar carries nothing old along: nothing is reported."""
    log = _started().event("two", "watch", None).event("one", "patch", gadget(6, phase="A"), {"status": {"phase": "A"}})
    assert log.event("two", "patch", gadget(7, phase="B"), {"status": {"phase": "B"}}).told() == []


def test_the_old_list_of_a_client_that_watches_is_found() -> None:
    """The list that it sends shows on which version it stands."""
    ready, probed, off = (
        {"type": type_, "status": status} for type_, status in (("Ready", "True"), ("Probed", "True"), ("Probed", "False"))
    )
    log = _started().event("two", "watch", None).event("two", "patch", gadget(6, conditions=[probed]), {"status": {"conditions": [probed]}})
    log.event("one", "get", gadget(6, conditions=[probed]))
    log.event("one", "patch", gadget(7, conditions=[probed, ready]), {"status": {"conditions": [probed, ready]}})
    log.event("two", "patch", gadget(8, conditions=[off]), {"status": {"conditions": [off]}})
    [sentence] = log.told()
    assert sentence.startswith("LOST (inferred) status.conditions[Ready] of gadgets default/g: one wrote ")
    assert "two, based on resourceVersion 6, overwrote it" in sentence


def test_an_answer_that_is_noted_late_was_received_all_the_same() -> None:
    """The log calls a request complete after its answer has left, so the next request may come before that."""
    log = Log().event("maker", "create", gadget(5), code=201).event("one", "patch", gadget(6, phase="A"), {"status": {"phase": "A"}})
    log.event("two", "get", gadget(6, phase="A")).event("two", "patch", gadget(7, phase="B"), {"status": {"phase": "B"}})
    read, write = map(json.loads, log.lines[-2:])
    read["stageTimestamp"] = f"{_time(4)}.000900Z"
    write["requestReceivedTimestamp"] = f"{_time(4)}.000100Z"
    log.lines[-2:] = [json.dumps(read), json.dumps(write)]
    assert log.told() == []


def test_a_validation_error_is_no_refused_update() -> None:
    """Only a conflict and a failed test of a JSON patch are caused by another writer."""
    invalid = {"kind": "Status", "details": {"causes": [{"reason": "FieldValueInvalid", "field": "status.phase"}]}}
    log = _started().event("two", "patch", invalid, {"status": {"phase": "no such"}}, code=422)
    log.event("two", "patch", {"kind": "Status"}, {"status": {"phase": "neither"}}, code=422)
    log.event("two", "patch", invalid, [{"op": "add", "path": "/status/phase", "value": "nor"}], code=422)
    assert log.told() == []
    log.event("two", "patch", {"kind": "Status", "details": {}}, [{"op": "add", "path": "/status/phase", "value": "B"}], code=422)
    assert [sentence.split(" of ")[0] for sentence in log.told()] == ["LOST status.phase"]


def test_what_a_process_says_goes_with_its_request() -> None:
    """Headers are not in the log; whoever saw them passes them on by the audit id."""
    log = _started().event("one", "patch", gadget(6, phase="A"), {"status": {"phase": "A"}})
    log.event("two", "get", gadget(6, phase="A")).event("two", "patch", gadget(7, phase="B"), {"status": {"phase": "B"}})
    write = json.loads(log.lines[-1])
    log.lines[-1] = json.dumps({**write, "auditID": "id-1"})
    said = {"id-1": Said(base=5, reads=(("status", "phase"),), seen=(4,))}
    [commit] = [r for r in records(log.lines, said) if isinstance(r, Commit) and r.actor == "two"]
    assert (commit.base, commit.reads, commit.seen) == (5, (("status", "phase"),), (4,))
    assert log.told() == []


def test_a_refused_write_that_never_comes_again_is_told() -> None:
    """Conflicts are in the log too."""
    log = _started().event("one", "patch", gadget(6, phase="A"), {"status": {"phase": "A"}})
    log.event("two", "update", {"kind": "Status"}, gadget(5, phase="B"), code=409)
    assert log.told() == [
        'LOST status.phase of gadgets default/g: two wanted "B", was refused (PUT on /status) and never sent it again. It is "A", as one '
        "left it. Handle the conflict: read the object, decide again, write."
    ]


@pytest.mark.parametrize("received", ["watch", "list"])
def test_a_client_that_received_the_recreated_object_does_not_mistake_it(received: str) -> None:
    """Deleted and created again under the same name: a watch or a list has shown the new object to the client."""
    log = _started().event("two", "patch", gadget(6, phase="A"), {"status": {"phase": "A"}})
    log.event("maker", "delete", {"kind": "Status"})
    new = gadget(8, phase="New")
    new["metadata"]["uid"] = "u2"
    log.event("maker", "create", new, code=201)
    log.event("two", received, {"kind": "GadgetList", "items": [new]} if received == "list" else None)
    done = {**gadget(9, phase="Done"), "metadata": {**new["metadata"], "resourceVersion": "9"}}
    assert log.event("two", "patch", done, {"status": {"phase": "Done"}}).told() == []


def test_a_strategic_merge_patch_in_a_log_replaces_no_list() -> None:
    """The log calls both a patch with an object; the other entries that are still there show which it was."""
    ready, off, probed = (
        {"type": type_, "status": status} for type_, status in (("Ready", "True"), ("Ready", "False"), ("Probed", "True"))
    )
    log = Log().event("one", "create", gadget(5, conditions=[ready, probed]), code=201).event("two", "watch", None)
    log.event("one", "patch", gadget(6, conditions=[off, probed]), {"status": {"conditions": [off]}})
    status = {"conditions": [ready], "phase": "B"}
    assert log.event("two", "patch", gadget(7, conditions=[ready, probed], phase="B"), {"status": status}).told() == []


def test_a_version_without_a_write_belongs_to_nobody_known() -> None:
    """A log that begins late, or a gap in it, blames no client for what it does not show."""
    log = Log().event("one", "get", gadget(5, phase="A")).event("two", "get", gadget(7, phase="B"))
    assert [(r.actor, r.version) for r in records(log.lines) if isinstance(r, Commit)] == [(UNSEEN, 7)]


def test_documents_that_are_no_events_are_passed_over() -> None:
    """Logs are mixed; an empty line is no error either."""
    assert records(["", "[]", '{"kind":"Pod"}', '{"kind":"Event","stage":"ResponseComplete","verb":"get"}']) == []


def test_a_line_that_is_no_json_is_an_error_with_its_number() -> None:
    """A log that was cut or damaged cannot be judged in silence."""
    with pytest.raises(MalformedLine, match=r"^line 3 is no JSON document: Input data was truncated$"):
        records(["[]", "", '{"kind":"Event"'])


def test_the_command_names_the_file_and_the_line_that_is_malformed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Exit code 2, and the number counts within the file."""
    whole, cut = tmp_path / "audit.log", tmp_path / "audit-2.log"
    whole.write_text("\n".join(_started().lines) + "\n")
    cut.write_text(_started().lines[0] + "\n" + '{"kind":"Ev')
    assert _code("check", str(whole), str(cut)) == 2
    assert capsys.readouterr().err == f"fiferail: {cut}:2: this line is no JSON document: Input data was truncated\n"


def test_the_command_counts_certain_inferred_and_possible_losses(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Possible ones are printed; with --possible=fail they fail too."""
    log = _started().event("two", "watch", None).event("two", "patch", gadget(6, names=["a"]), {"status": {"names": ["a"]}})
    log.event("one", "get", gadget(6, names=["a"])).event("one", "patch", gadget(7, names=["a", "b"]), {"status": {"names": ["a", "b"]}})
    log.event("two", "patch", gadget(8, names=["a", "c"]), {"status": {"names": ["a", "c"]}})
    file = tmp_path / "audit.log"
    file.write_text("\n".join(log.lines))
    assert _code("check", str(file)) == 0
    out = capsys.readouterr().out.splitlines()
    assert out[0].startswith("POSSIBLY LOST status.names of gadgets default/g: one wrote ")
    assert out[1] == "fiferail: nothing lost in 4 writes by 3 clients, 1 possible loss"
    assert _code("check", "--possible=fail", str(file)) == 1


def _calls(patches: int) -> int:
    """How many calls it takes to read and check a log of so many patches of one object by one client."""
    log = _started()
    for version in range(6, 6 + patches):
        log.event("one", "patch", gadget(version, phase=str(version)), {"status": {"phase": str(version)}})
        log.event("one", "get", gadget(version, phase=str(version)))
    count = 0

    def called(_frame: Any, event: str, _arg: Any) -> None:
        nonlocal count
        count += event == "call"

    sys.setprofile(called)
    try:
        log.told()
    finally:
        sys.setprofile(None)
    return count


def test_the_work_of_a_check_grows_with_the_log_and_not_faster() -> None:
    """Four times the patches of one object take four times the calls."""
    assert _calls(1200) < 4.4 * _calls(300)


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
#: Nor what a read after a refusal was for: whoever finds nothing left to do sends the same requests.
_GIVEN_UP = {(name, "PUT, conditions retried") for name in ("disjoint scalars", "double plan", "reference list", "swallowed conflict")}


def test_the_log_of_a_real_server_shows_the_losses_of_the_matrix(audited: RealServer) -> None:
    """Every losing cell is found in the audit log of a real kube-apiserver, and none of the default strategy but the older version."""
    context = audited.ssl_context()
    place = Place(lambda actor: HttpTransport(audited.url, token=audited.token, context=context, user_agent=actor))
    serve_crd(place)
    lost: dict[str, tuple[str, str]] = {}
    safe = set()
    for hazard in HAZARDS:
        for make in WAYS:
            way = make()
            before = place.fresh_name()
            verdict = run(hazard, way, place)
            name = f"g{int(before[1:]) + 1}"
            if verdict.word == LOST and hazard.name not in _TOLD_BY_THE_PROCESS:
                lost[name] = (hazard.name, way.name)
            if way.name == "COMPARE" and hazard.name != "older version":
                safe.add(name)
    checker = Checker()
    for record in records(audited.audit_log_file.read_bytes().splitlines()):
        checker.feed(record)
    checker.finish()
    found = {finding.object.name: explain(finding) for finding in checker.findings if finding.is_loss or finding.is_possible}
    assert len(lost) > 40
    assert {cell for name, cell in lost.items() if name not in found} == _GIVEN_UP
    assert {name: found[name] for name in safe & set(found)} == {}

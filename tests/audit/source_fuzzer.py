"""A fuzzer of the auditor: mangled, repeated and hostile source, names, roles and configuration.

    python tests/audit/source_fuzzer.py --seconds 600

Each case is a small tree, made from its seed and number alone. The whole audit runs on it in this process: every format, --explain of the
first findings, --fix without writing. A case fails when something raises, when a function or file "could not be followed", or when the
processor works on it for longer than a second for each 100 kB and a millisecond for each finding. The same seed and number make the same
case again (`--case N`).
"""

from __future__ import annotations

import argparse
import faulthandler
import os
import sys
import tempfile
import time
import traceback
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

from fiferail.audit import audit
from fiferail.audit.config import Config, ConfigError, load
from fiferail.audit.explain import explain
from fiferail.audit.fixes import mend
from fiferail.audit.render import FORMATS, render

FIXTURES = Path(__file__).parent / "fixtures"
SLOWEST = 1.0
LARGEST = 100_000
HANGS = 120
EXPLAINED = 20
NAMES = ["a", "b c", "x\ny", "::error::", '"""', "\x1b[2J", "é", "##[x]", "{0}", "%n", "vendor", "test_a", "#", "&amp;", "`|`", "\\", "'"]
SCRAPS = [
    *(b"\0", b"\xff", b"\xef\xbb\xbf", b"\r", b"\x0c", b"\\", b'"""', b"'''", b"`", b"/*", b"*/", b"//", b"#", b"${", b"\xed\xa0\x80"),
    *(b"(", b")", b"[", b"]", b"{", b"}", b"[" * 300, b"(" * 300, b"{" * 300, b"- " * 300, b"a." * 300, b"not " * 300, b"&x *x "),
    *(b"func ", b"return ", b"defer ", b"go func() {", b"if err != nil {", b"for {", b":= ", b"<-", b"...", b"type T[T any] "),
    *(b"def f():\n ", b"async ", b"await ", b"lambda: ", b"yield ", b"class A(A): ", b"import kubernetes\n", b"from . import *\n"),
    *(b".Status().Update(ctx, x)", b".Patch(ctx, x, client.MergeFrom(x))", b"//fiferail:allow FR001 x\n", b"# fiferail: allow[FR001] x\n"),
    *(b"// +kubebuilder:rbac:groups=a,resources=b/status,verbs=get;update\n", b"kind: Role\nrules: 5\n", b"<<: *a\n", b"!!python/x "),
]


@dataclass(slots=True)
class Outcome:
    """What a run has seen."""

    cases: int = 0
    findings: int = 0
    slowest: float = 0.0
    failures: list[str] = field(default_factory=list)


def corpus() -> dict[str, list[bytes]]:
    """Sources to start from, by ending."""
    found = {ending: [path.read_bytes() for path in sorted(FIXTURES.rglob(f"*.{ending}"))] for ending in ("go", "py")}
    role = (
        b"apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nrules:\n- &a\n  apiGroups: [x]\n  resources: [gadgets/status]\n"
        b"  verbs: [get, patch]\n- {<<: *a, verbs: [update]}\n"
    )
    settings = b'policy = "locked"\nselect = ["FR001"]\nexclude = ["a+"]\nroles = ["r.yaml"]\ntests = true\n[audit]\ncache = false\n'
    return found | {"yaml": [role], "toml": [settings]}


def mangled(random: Random, sources: list[bytes]) -> bytes:
    """One source, cut, doubled, joined with others, or repeated until it is large."""
    data = random.choice(sources)
    for _ in range(random.randint(1, 5)):
        at, to = sorted(random.randrange(len(data) + 1) for _ in range(2))
        lines = data.split(b"\n")
        match random.randrange(8):
            case 0:
                data = data[:at] + data[min(to, at + 200) :]
            case 1:
                data = data[:at] + random.choice(SCRAPS) + data[at:]
            case 2:
                other = random.choice(sources)
                data = data[:at] + other[random.randrange(len(other) + 1) :]
            case 3:
                data = data[:at] + data[at : at + 400] * random.choice([2, 3, 50]) + data[at:]
            case 4:
                line = random.randrange(len(lines))
                data = b"\n".join([*lines[:line], *[lines[line]] * random.choice([2, 20, 500]), *lines[line:]])
            case 5:
                random.shuffle(lines)
                data = b"\n".join(lines)
            case 6:
                word = random.choice([scrap for scrap in [*SCRAPS, *data.split()] if scrap])
                data = data[:at] + word * random.choice([10, 1000, LARGEST // len(word)]) + data[at:]
            case _:
                data = bytes(random.randrange(256) if random.random() < 0.01 else byte for byte in data[:20_000])
    return data[:LARGEST]


def make(random: Random, where: Path, sources: dict[str, list[bytes]]) -> int:
    """A tree of up to four files, a role and a configuration; its size."""
    size = 0
    for _ in range(random.randint(1, 4)):
        ending = random.choice(["go", "go", "py", "py"])
        data = mangled(random, sources[ending]) if random.random() < 0.8 else random.choice(sources[ending])
        directory = where / random.choice(["", "", *NAMES])
        directory.mkdir(exist_ok=True)
        (directory / f"{random.choice(NAMES)}{random.randrange(9)}.{ending}").write_bytes(data)
        size += len(data)
    (where / "r.yaml").write_bytes(mangled(random, sources["yaml"]))
    (where / "c.toml").write_bytes(mangled(random, sources["toml"])[:5_000])
    return size + (where / "r.yaml").stat().st_size


def play(where: Path) -> int:
    """Everything that the command does with a tree, but for writing; how many findings there were."""
    try:
        config = load(str(where / "c.toml"))
    except ConfigError:
        config = Config()
    config = Config(cache=False, tests=True, generated=True, processes=1, policy=config.policy, roles=(str(where / "r.yaml"),))
    report = audit([str(where)], config)
    for one in report.facts.skipped:
        if "could not be followed" in one.why:
            raise AssertionError(f"{one.file}: {one.why}")
    for form in FORMATS:
        render(report, form).encode()
    for finding in report.findings[:EXPLAINED]:
        try:
            compile(explain(report, finding.number), "explained.py", "exec")
        except ConfigError as problem:
            if "is not about" not in str(problem):
                raise
    for change in mend(report, unsafe=True, write=False):
        change.diff()
    return len(report.findings)


def one(seed: int, number: int, sources: dict[str, list[bytes]], outcome: Outcome) -> None:
    """Run a case, and note what went wrong."""
    random = Random(f"{seed}:{number}")
    with tempfile.TemporaryDirectory() as folder:
        size = make(random, Path(folder), sources)
        faulthandler.dump_traceback_later(HANGS, exit=True)
        started = time.process_time()
        found = 0
        try:
            found = play(Path(folder))
        except Exception:
            outcome.failures.append(f"case {seed}:{number}\n{traceback.format_exc()}")
        finally:
            faulthandler.cancel_dump_traceback_later()
        took = time.process_time() - started
    outcome.cases += 1
    outcome.findings += found
    outcome.slowest = max(outcome.slowest, took)
    if took > SLOWEST * max(1.0, size / LARGEST) + found / 1000:
        outcome.failures.append(f"case {seed}:{number}: {took:.1f} s for {size} bytes")


def main(arguments: list[str]) -> int:
    """Fuzz for a time; 0 when nothing failed."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seconds", type=float, default=60.0, help="how long")
    parser.add_argument("--seed", type=int, default=1, help="which cases")
    parser.add_argument("--case", type=int, help="only this case, again")
    asked = parser.parse_args(arguments)
    faulthandler.enable()
    sources, outcome = corpus(), Outcome()
    end = time.monotonic() + asked.seconds
    progress = os.path.join(tempfile.gettempdir(), f"fiferail-source-fuzzer-{os.getpid()}")
    number = asked.case or 0
    while True:
        # A crash of the interpreter leaves the number of its case behind.
        Path(progress).write_text(f"--seed {asked.seed} --case {number}\n")
        known = len(outcome.failures)
        one(asked.seed, number, sources, outcome)
        for failure in outcome.failures[known:]:
            print(failure, flush=True)
        number += 1
        if asked.case is not None or time.monotonic() > end:
            break
    os.unlink(progress)
    print(f"{outcome.cases} cases, {outcome.findings} findings, slowest {outcome.slowest:.2f} s, {len(outcome.failures)} failures")
    return 1 if outcome.failures else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

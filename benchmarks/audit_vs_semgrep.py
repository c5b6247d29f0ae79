"""The auditor beside semgrep on one large Go repository, in one run: time, memory, and what each finds.

    python benchmarks/audit_vs_semgrep.py --semgrep PATH_TO_SEMGREP [--module k8s.io/kubernetes@v1.36.3] [--below pkg] [--write
    docs/benchmarks-audit.md]

semgrep gets the two rules that a person would write first: `$X.Status().Update(...)` and plain `client.MergeFrom(...)`, with one for
generated clients, `$X.UpdateStatus(...)`.
It is no dependency of this project: give it a virtual environment of its own.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, NamedTuple

RULES = """
rules:
- {id: status-update, languages: [go], severity: WARNING, message: status update, pattern: $X.Status().Update(...)}
- {id: typed-status-update, languages: [go], severity: WARNING, message: typed status update, pattern: $X.UpdateStatus(...)}
- {id: plain-merge-from, languages: [go], severity: WARNING, message: plain merge, pattern: client.MergeFrom(...)}
"""


class Usage(NamedTuple):
    """What a command took: seconds on the clock, seconds of processor time over all its processes, megabytes of its largest process."""

    seconds: float
    processor: float
    megabytes: float


def timed(command: list[str], environment: dict[str, str]) -> tuple[Usage, str]:
    wrapper = (
        "import resource,subprocess,sys;p=subprocess.run(sys.argv[1:],stdout=sys.stdout,stderr=subprocess.DEVNULL);"
        "u=resource.getrusage(resource.RUSAGE_CHILDREN);print(u.ru_maxrss,u.ru_utime+u.ru_stime,file=sys.stderr)"
    )
    started = time.perf_counter()
    answer = subprocess.run([sys.executable, "-c", wrapper, *command], capture_output=True, text=True, check=False, env=environment)
    seconds = time.perf_counter() - started
    kilobytes, processor = answer.stderr.strip().splitlines()[-1].split()
    return Usage(seconds, float(processor), int(kilobytes) / 1024), answer.stdout


def directory_of(module: str, below: str) -> Path:
    answer = subprocess.run(["go", "mod", "download", "-json", module], capture_output=True, text=True, check=False)
    return Path(json.loads(answer.stdout)["Dir"]) / below


def lines_of(directory: Path) -> tuple[int, int]:
    files = list(directory.rglob("*.go"))
    return len(files), sum(path.read_bytes().count(b"\n") for path in files)


def with_semgrep(semgrep: str, directory: Path, work: Path) -> tuple[Usage, set[tuple[str, int]]]:
    rules = work / "rules.yaml"
    rules.write_text(RULES)
    command = [
        semgrep,
        "scan",
        "--config",
        str(rules),
        "--json",
        "--quiet",
        "--metrics=off",
        "--disable-version-check",
        "--no-git-ignore",
        "--jobs",
        "2",
        "--exclude",
        "*_test.go",
        str(directory),
    ]
    usage, output = timed(command, {**os.environ, "SEMGREP_SEND_METRICS": "off"})
    found = {(os.path.relpath(result["path"], directory), result["start"]["line"]) for result in json.loads(output)["results"]}
    return usage, found


def with_fiferail(directory: Path, cache: Path) -> tuple[Usage, dict[str, Any]]:
    command = [sys.executable, "-m", "fiferail.audit", str(directory), "--format", "json"]
    usage, output = timed(command, {**os.environ, "FIFERAIL_CACHE": str(cache)})
    return usage, json.loads(output)


def growth(directory: Path, work: Path) -> list[tuple[str, int, int, Usage]]:
    """Cold runs on parts of the repository: time against lines, and against writes."""
    out = []
    for part in ("kubelet", "controller", ""):
        where = directory / part
        if where.is_dir():
            usage, found = with_fiferail(where, work / f"growth-{part or 'all'}")
            out.append((part or "all", lines_of(where)[1], len(found["sites"]), usage))
    return out


def report(arguments: argparse.Namespace) -> str:
    directory = directory_of(arguments.module, arguments.below)
    files, lines = lines_of(directory)
    with tempfile.TemporaryDirectory() as name:
        work = Path(name)
        semgrep = [with_semgrep(arguments.semgrep, directory, work) for _ in range(arguments.runs)]
        cold, warm = [], []
        for _ in range(arguments.runs):
            shutil.rmtree(work / "cache", ignore_errors=True)
            cold.append(with_fiferail(directory, work / "cache"))
            warm.append(with_fiferail(directory, work / "cache"))
        grown = growth(directory, work)
    best_semgrep, best_cold, best_warm = (min(runs, key=lambda run: run[0].processor) for runs in (semgrep, cold, warm))
    return _page(arguments, files, lines, best_semgrep, best_cold, best_warm, grown)


def _page(
    arguments: argparse.Namespace, files: int, lines: int, semgrep: Any, cold: Any, warm: Any, grown: list[tuple[str, int, int, Usage]]
) -> str:
    sites = {(site["file"], site["line"]): site for site in cold[1]["sites"]}
    status = {place for place, site in sites.items() if site["target"] == "status"}
    both = status & semgrep[1]
    only_semgrep = sorted(semgrep[1] - status)
    only_fiferail = status - semgrep[1]
    kinds: dict[str, int] = {}
    for place in only_fiferail:
        kinds[sites[place]["verb"]] = kinds.get(sites[place]["verb"], 0) + 1
    version = subprocess.run([arguments.semgrep, "--version"], capture_output=True, text=True, check=False).stdout.strip()
    rows = [
        "<!-- Written by benchmarks/audit_vs_semgrep.py. -->",
        "# The auditor beside semgrep",
        "",
        f"`{arguments.module}`, below `{arguments.below or '.'}`: {files:,} Go files, {lines:,} lines. {os.cpu_count()} "
        f"cores, Python {sys.version.split()[0]}, semgrep {version}; "
        f"the best of {arguments.runs} runs each, one after the other on the same machine.",
        "",
        "| | seconds | processor seconds | megabytes (largest process) | status writes |",
        "| --- | ---: | ---: | ---: | ---: |",
        f"| semgrep, three patterns | {_usage(semgrep[0])} | {len(semgrep[1])} matches |",
        f"| fiferail audit, cold | {_usage(cold[0])} | {len(status)} of {len(sites)} writes |",
        f"| fiferail audit, warm | {_usage(warm[0])} | {len(status)} of {len(sites)} writes |",
        "",
        "The clock depends on what else the machine does, processor seconds less so: compare the rows, not the figures.",
        "",
        "## What each finds that the other does not",
        "",
        f"- Both: {len(both)} places.",
        f"- Only fiferail: {len(only_fiferail)} "
        f"({', '.join(f'{verb} {count}' for verb, count in sorted(kinds.items(), key=lambda item: -item[1]))}): "
        "calls of functions that write what they are given, patches through generated clients, server-side apply. For "
        "each it also says kind, ownership, base, verdict and reason, which semgrep's patterns do not.",
        f"- Only semgrep: {len(only_semgrep)}"
        + (", calls that the auditor takes for something else, or that stand in files which it leaves out:" if only_semgrep else "."),
        *(f"    - `{file}:{line}`" for file, line in only_semgrep[:20]),
        "",
        "## Growth",
        "",
        "| part | lines | writes | cold: seconds | processor seconds | megabytes |",
        "| --- | ---: | ---: | ---: | ---: | ---: |",
        *(f"| {part} | {count:,} | {writes} | {_usage(usage)} |" for part, count, writes, usage in grown),
        "",
        "Reading and filtering bytes grows with all lines and is cheap; parsing and following grow with the lines that touch the API.",
        "",
    ]
    return "\n".join(rows)


def _usage(usage: Usage) -> str:
    return f"{usage.seconds:.1f} | {usage.processor:.1f} | {usage.megabytes:.0f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--semgrep", required=True)
    parser.add_argument("--module", default="k8s.io/kubernetes@v1.36.3")
    parser.add_argument("--below", default="pkg")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--write", default="")
    arguments = parser.parse_args()
    page = report(arguments)
    if arguments.write:
        Path(arguments.write).write_text(page)
    print(page)
    print(f"(this process peaked at {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024} MB)", file=sys.stderr)


if __name__ == "__main__":
    main()

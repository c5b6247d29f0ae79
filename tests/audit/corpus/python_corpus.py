"""The Python corpus: labelled writes of real projects from the package registry, and how well the auditor finds and names them.

    python tests/audit/corpus/python_corpus.py [--held-out] [--problems] [project...]

Each `python/*.jsonl` starts with a line that names a package and its version; every other line is one write to the API as a person read
it in that source, whatever it writes: few published Python projects write a status. A project is downloaded by name as a wheel, which
runs none of its code, and audited; what the auditor says is compared line by line.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path
from types import ModuleType
from typing import Any

from fiferail.audit import audit
from fiferail.audit.config import Config

HERE = Path(__file__).parent


def _go_corpus() -> ModuleType:
    """The Go corpus beside this file: counting and the table are its."""
    if "audit_corpus" not in sys.modules:
        spec = importlib.util.spec_from_file_location("audit_corpus", HERE / "corpus.py")
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules["audit_corpus"] = module
        spec.loader.exec_module(module)
    return sys.modules["audit_corpus"]


def projects() -> dict[str, dict[str, Any]]:
    """Name to header and labels."""
    out: dict[str, dict[str, Any]] = {}
    for path in sorted((HERE / "python").glob("*.jsonl")):
        header, *labels = [json.loads(line) for line in path.read_text().splitlines() if line]
        out[path.stem] = {**header, "labels": labels}
    return out


def download(package: str, version: str) -> str:
    """The directory of an unpacked wheel, downloaded when it is not there yet; empty when it cannot be had."""
    base = os.environ.get("FIFERAIL_CACHE") or os.path.join(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "fiferail")
    target = Path(base) / "corpus" / f"{package}-{version}"
    source = target / "source"
    if source.is_dir():
        return str(source)
    target.mkdir(parents=True, exist_ok=True)
    command = [
        sys.executable,
        "-m",
        "pip",
        "download",
        "-q",
        "--no-deps",
        "--only-binary",
        ":all:",
        "-d",
        str(target),
        f"{package}=={version}",
    ]
    try:
        subprocess.run(command, capture_output=True, check=True, timeout=300)
    except (OSError, subprocess.SubprocessError):
        return ""
    for wheel in target.glob("*.whl"):
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(source, [name for name in archive.namelist() if name.endswith(".py") and ".data/" not in name])
    return str(source)


def score(name: str, project: dict[str, Any], directory: str) -> Any:
    """Compares every write, not those of status alone: a site that no label has is one too many."""
    corpus = _go_corpus()
    report = audit([directory], Config(cache=False))
    labelled = {(label["file"], label["line"]): label for label in project["labels"]}
    sites = {(site.file, site.line): site for site in report.facts.sites}
    result = corpus.Score(labels=len(labelled))
    for place, label in labelled.items():
        site = sites.get(place)
        if site is None:
            result.problems.append(f"{name}: {place[0]}:{place[1]} not found ({label['verb']} of {label['kind'] or 'any kind'})")
            continue
        result.found += 1
        for aspect in corpus.ASPECTS:
            said, wanted = str(getattr(site, aspect)), label[aspect]
            result.right[aspect] += said == wanted
            if said != wanted:
                result.problems.append(f"{name}: {place[0]}:{place[1]} {aspect} is {wanted or 'open'}, the auditor says {said or 'open'}")
    for place in sites:
        if place not in labelled:
            result.extra += 1
            result.problems.append(f"{name}: {place[0]}:{place[1]} is no write")
    corpus._judge(name, report, labelled, result)
    return result


def measure(names: list[str], held_out: bool) -> dict[str, Any]:
    out: dict[str, Any] = {}
    for name, project in projects().items():
        if (names and name not in names) or (not names and bool(project["held_out"]) != held_out):
            continue
        directory = download(project["package"], project["version"])
        if not directory:
            print(f"{name}: {project['package']}=={project['version']} cannot be downloaded here; left out", file=sys.stderr)
            continue
        out[name] = score(name, project, directory)
    return out


def table(scores: dict[str, Any]) -> list[str]:
    aspects = _go_corpus().ASPECTS
    lines = [
        "| project | writes read | found | too many | verb | target | kind | ownership | findings | justified |",
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    total = _go_corpus().Score()
    for one in scores.values():
        total.add(one)
    for name, one in [*scores.items(), ("**all**", total)]:
        shares = " | ".join(f"{one.share(aspect):.1%}" for aspect in aspects)
        justified = f"{one.precision:.1%}" if one.findings else "-"
        lines.append(f"| {name} | {one.labels} | {one.recall:.1%} | {one.extra} | {shares} | {one.findings} | {justified} |")
    return lines


def main() -> int:
    parser = argparse.ArgumentParser(description="Measure the auditor on labelled Python projects.")
    parser.add_argument("projects", nargs="*")
    parser.add_argument("--held-out", action="store_true", help="the projects that were kept out of development")
    parser.add_argument("--problems", action="store_true", help="print every difference")
    arguments = parser.parse_args()
    scores = measure(arguments.projects, arguments.held_out)
    print("\n".join(table(scores)))
    if arguments.problems:
        for one in scores.values():
            print("\n".join(one.problems))
    return 0 if scores else 2


if __name__ == "__main__":
    sys.exit(main())

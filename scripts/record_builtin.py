"""Sends the requests of `tests/apiserver_builtin/cases/*.json` to a real kube-apiserver and writes down its answers.

    python scripts/record_builtin.py [--url https://127.0.0.1:6443 --token TOKEN] [FILE...]

A case is a list of steps; each has a request and, once recorded, the answer. Cases run in namespaces of their own: `{ns}` in paths,
bodies and answers stands for it. What a server chooses (uids, times, resourceVersions, addresses) is replaced before comparing, so
the same recording judges the embedded server. The cases are edited by hand, the answers never.
"""

from __future__ import annotations

import argparse
import json
import pathlib
import re
import ssl
import sys
import urllib.error
import urllib.request
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

CASES = pathlib.Path(__file__).resolve().parent.parent / "tests/apiserver_builtin/cases"
UID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
TIME = re.compile(r"20(2[6-9]|[3-9]\d)-\d\d-\d\dT\d\d:\d\d:\d\dZ")  # cases use times before 2026: later ones are the server's
ADDRESS = re.compile(r"10\.0\.0\.\d+")
NODE_PORT = re.compile(r"^3[0-2]\d\d\d$")


def run(case: Any, namespace: str, send: Callable[[str, str, str, bytes], tuple[int, Any, list[str]]]) -> list[Any]:
    """The normalised answers to all steps of a case. `send` takes method, target, content type and body."""
    answers, version = [], ""
    for step in case["steps"]:
        target = step["path"].replace("{ns}", namespace)
        body = step.get("raw", json.dumps(step["body"]) if "body" in step else "").replace("{ns}", namespace).replace("{version}", version)
        code, answer, warnings = send(step["method"], target, step.get("type", "application/json"), body.encode())
        if isinstance(answer, dict):
            version = (answer.get("metadata") or {}).get("resourceVersion", version)
        recorded = {"code": code, "body": normalised(answer, namespace, body)}
        if warnings:
            recorded["warnings"] = [text.replace(namespace, "{ns}") for text in warnings]
        answers.append(recorded)
    return answers


def normalised(answer: Any, namespace: str, sent: str) -> Any:
    """The answer with everything that a server is free to choose replaced by what it is."""
    if isinstance(answer, dict):
        found = {}
        for key, value in answer.items():
            if key in ("resourceVersion", "time") and isinstance(value, str) and value not in ("", "0"):
                continue
            if key in ("nodePort", "healthCheckNodePort") and str(value) not in sent:
                value = "{port}"
            made = normalised(value, namespace, sent)
            if key == "managedFields" and isinstance(made, list):  # in order of time, which is how fast the machine was
                made.sort(key=lambda entry: json.dumps(entry, sort_keys=True))
            found[_text(key, namespace, sent)] = made
        return found
    if isinstance(answer, list):
        return [normalised(value, namespace, sent) for value in answer]
    return _text(answer, namespace, sent) if isinstance(answer, str) else answer


def _text(text: str, namespace: str, sent: str) -> str:
    text = UID.sub(lambda found: found.group() if found.group() in sent else "{uid}", text)
    text = TIME.sub(lambda found: found.group() if found.group() in sent else "{time}", text)
    text = ADDRESS.sub(lambda found: found.group() if found.group() in sent else "{address}", text)
    return text.replace(namespace, "{ns}")


class Server:
    """A running kube-apiserver."""

    def __init__(self, url: str, token: str) -> None:
        self.url, self.token = url.rstrip("/"), token
        self.context = ssl._create_unverified_context()

    def send(self, method: str, target: str, content_type: str, body: bytes) -> tuple[int, Any, list[str]]:
        headers = {"Authorization": f"Bearer {self.token}", "User-Agent": "recorder", "Content-Type": content_type}
        request = urllib.request.Request(self.url + target, method=method, headers=headers, data=body or None)
        try:
            with urllib.request.urlopen(request, context=self.context, timeout=30) as answer:
                return answer.status, json.load(answer), warnings_of(answer.headers.get_all("Warning") or [])
        except urllib.error.HTTPError as error:
            text = error.read().decode()
            try:
                return error.code, json.loads(text), warnings_of(error.headers.get_all("Warning") or [])
            except ValueError:
                return error.code, text, []


_WARNING = re.compile(r'299 \S+ ("(?:[^"\\]|\\.)*")')


def warnings_of(headers: list[str]) -> list[str]:
    """The texts of Warning headers."""
    return [json.loads(text) for header in headers for text in _WARNING.findall(header)]


def record(file: pathlib.Path, server: Server, run_id: str) -> int:
    """Runs every case of a file and rewrites it with the answers."""
    cases = json.loads(file.read_text())
    for number, case in enumerate(cases):
        namespace = f"c{run_id}-{file.stem}-{number}"
        server.send("POST", "/api/v1/namespaces", "application/json", json.dumps({"metadata": {"name": namespace}}).encode())
        for step, answer in zip(case["steps"], run(case, namespace, server.send), strict=True):
            step["answer"] = answer
    lines = ",\n".join(json.dumps(case, ensure_ascii=False, sort_keys=True, separators=(",", ":")) for case in cases)
    file.write_text(f"[\n{lines}\n]\n")
    return len(cases)


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--url", help="a running kube-apiserver; without it one is built and started")
    parser.add_argument("--token", default="fiferail")
    parser.add_argument("--run", default="1", help="part of the namespaces' names: a server sees each name once")
    parser.add_argument("files", nargs="*", type=pathlib.Path)
    given = parser.parse_args()
    files = given.files or sorted(CASES.glob("*.json"))
    if given.url:
        record_all(files, Server(given.url, given.token), given.run)
        return 0
    from fiferail.apiserver.real.launch import RealServer

    with RealServer() as real:
        record_all(files, Server(real.url, real.token), given.run)
    return 0


def record_all(files: list[pathlib.Path], server: Server, run_id: str) -> None:
    """Records file after file."""
    for file in files:
        print(f"{file.name}: {record(file, server, run_id)} cases")


if __name__ == "__main__":
    sys.exit(main())

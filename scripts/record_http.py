"""Records again what a real kube-apiserver says: tests/apiserver_http/recorded_requests.jsonl and recorded_tables.json.

Run it after a change of the Kubernetes version: `python scripts/record_http.py`. It starts a real server, sends the requests and
creates the objects that the files hold, and writes the files anew with the answers of that server. Review the difference.
"""

from __future__ import annotations

import http.client
import json
import re
import time
from pathlib import Path
from typing import Any

import yaml

from fiferail.apiserver.real.launch import RealServer

TESTS = Path(__file__).parent.parent / "tests"
REQUESTS = TESTS / "apiserver_http" / "recorded_requests.jsonl"
TABLES = TESTS / "apiserver_http" / "recorded_tables.json"
CRD = TESTS / "clients_on_embedded" / "gadgets.yaml"
GADGETS = "/apis/example.io/v1/namespaces/default/gadgets"
AS_TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"
_SET_BY_SERVER = ("uid", "resourceVersion", "creationTimestamp", "generation", "managedFields")


class Caller:
    """Sends requests to the real server as its administrator."""

    def __init__(self, server: RealServer) -> None:
        self._address, self._context, self._token = server.url.removeprefix("https://"), server.ssl_context(), server.token

    def raw(self, method: str, path: str, body: bytes | None, headers: dict[str, str]) -> tuple[int, str | None, bytes]:
        """Code, content type and body; a new connection each time, because some requests make the server close it."""
        connection = http.client.HTTPSConnection(self._address, context=self._context, timeout=30)
        try:
            connection.request(method, path, body, {"Authorization": f"Bearer {self._token}", "User-Agent": "cmp/1", **headers})
            answer = connection.getresponse()
            return answer.status, answer.getheader("content-type"), answer.read()
        finally:
            connection.close()

    def json(self, method: str, path: str, body: Any = None, **headers: str) -> Any:
        """The answer's JSON."""
        named = {"Content-Type": "application/json", **{name.replace("_", "-"): value for name, value in headers.items()}}
        return json.loads(self.raw(method, path, None if body is None else json.dumps(body).encode(), named)[2])


def told(content_type: str | None, body: bytes) -> str:
    """What the recording keeps of an answer."""
    try:
        document = json.loads(body)
    except ValueError:
        return body.decode("utf-8", "replace") if (content_type or "").startswith("text/plain") and len(body) < 100 else ""
    return str(document["message"]) if document.get("kind") == "Status" else str(document.get("kind") or "")


def record_requests(call: Caller) -> None:
    """Asks every recorded request again."""
    lines = []
    for line in REQUESTS.read_text().splitlines():
        method, path, media_type, body, *_ = json.loads(line)
        headers = {"Content-Type" if body else "Accept": media_type} if media_type or body else {}
        status, content_type, received = call.raw(method, path, body.encode() or None, headers)
        lines.append(json.dumps([method, path, media_type, body, status, content_type, told(content_type, received)], ensure_ascii=False))
    REQUESTS.write_text("\n".join(lines) + "\n")


def record_tables(call: Caller) -> None:
    """Creates every recorded object, and keeps it and its row as the server gives them."""
    cases = json.loads(TABLES.read_text())
    for case in cases:
        if case["kind"] in ("Scale", "CustomResourceDefinition", "Namespace"):
            continue
        for row in case["rows"]:
            path = _created(call, row["object"])
            table = call.json("GET", path, Accept=AS_TABLE)
            stored = call.json("GET", path)
            stored["metadata"].pop("managedFields", None)
            case["columns"] = [[column[name] for name in ("name", "type", "format", "priority")] for column in table["columnDefinitions"]]
            row |= {"object": stored, "cells": without_ages(table["rows"][0]["cells"])}
    TABLES.write_text("[\n" + ",\n".join(json.dumps(case, separators=(",", ":"), sort_keys=True) for case in cases) + "\n]\n")


def _created(call: Caller, recorded: Any) -> str:
    """Creates the object with its status, unless it is there; gives back its path."""
    meta = {name: value for name, value in recorded["metadata"].items() if name not in _SET_BY_SERVER}
    api_version = recorded["apiVersion"]
    base = f"/apis/{api_version}" if "/" in api_version else f"/api/{api_version}"
    (resource,) = (entry for entry in call.json("GET", base)["resources"] if entry["kind"] == recorded["kind"] and "/" not in entry["name"])
    collection = f"{base}/namespaces/default/{resource['name']}" if resource["namespaced"] else f"{base}/{resource['name']}"
    path = f"{collection}/{meta['name']}"
    if call.json("GET", path)["kind"] != "Status":
        return path  # the same object, seen through another group
    body = {name: value for name, value in recorded.items() if name != "status"}
    if recorded["kind"] == "Job":  # its selector names the uid, which will be another one
        template = {"spec": body["spec"]["template"]["spec"]}
        body["spec"] = {**{name: value for name, value in body["spec"].items() if name != "selector"}, "template": template}
    made = call.json("POST", collection, {**body, "metadata": meta})
    if made["kind"] == "Status":
        raise SystemExit(f"{collection}: {made['message']}")
    if recorded.get("status"):
        call.json("PATCH", f"{path}/status", {"status": recorded["status"]}, Content_Type="application/merge-patch+json")
    return path


def without_ages(cells: list[Any]) -> list[Any]:
    """Ages replaced by a word."""
    cells = [re.sub(r"^(\d+[a-z])+$", "AGE", cell) if isinstance(cell, str) else cell for cell in cells]
    return [re.sub(r"\((\d+[a-z])+ ago\)", "(AGE ago)", cell) if isinstance(cell, str) else cell for cell in cells]


def main() -> None:
    """Starts a server and records both files."""
    with RealServer() as server:
        call = Caller(server)
        call.json("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", yaml.safe_load(CRD.read_text()))
        gadget = {"apiVersion": "example.io/v1", "kind": "Gadget", "metadata": {"name": "g"}, "spec": {"size": 3}}
        while call.raw("POST", GADGETS, json.dumps(gadget).encode(), {"Content-Type": "application/json"})[0] != 201:
            time.sleep(0.2)  # a CRD is served some seconds after its creation
        record_requests(call)
        record_tables(call)


if __name__ == "__main__":
    main()

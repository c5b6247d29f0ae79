"""Asks a real kube-apiserver how it describes the columns of its Tables, and writes src/fiferail/apiserver/tables/descriptions.json.

    python scripts/record_columns.py

Starts the real server of the cache. A description is kept once; kinds name theirs by number.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from fiferail.apiserver.real import build
from fiferail.apiserver.real.launch import RealServer
from fiferail.testing.transport import HttpTransport
from fiferail.wire import Request

TARGET = Path(__file__).resolve().parent.parent / "src/fiferail/apiserver/tables/descriptions.json"
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"


def main() -> None:
    """Records all kinds that can be listed, each in its first version."""
    with RealServer(binaries=build.ensure()) as server:
        transport = HttpTransport(server.url, token=server.token, context=server.ssl_context())
        texts: list[str] = []
        columns: dict[str, dict[str, int]] = {}
        for group, base in _groups(transport):
            for resource in _asked(transport, base)["resources"]:
                kind = f"{group}/{resource['kind']}"
                if "/" in resource["name"] or "list" not in resource["verbs"] or kind in columns:
                    continue
                found = _asked(transport, f"{base}/{resource['name']}", TABLE)["columnDefinitions"]
                texts += [column["description"] for column in found if column["description"] not in texts]
                columns[kind] = {column["name"]: texts.index(column["description"]) for column in found}
    document = {"made_by": "scripts/record_columns.py", "texts": texts, "columns": columns}
    TARGET.write_text(json.dumps(document, indent=0, sort_keys=True))


def _groups(transport: HttpTransport) -> list[tuple[str, str]]:
    groups = [("", "/api/v1")]
    for group in _asked(transport, "/apis")["groups"]:
        groups += [(group["name"], f"/apis/{version['groupVersion']}") for version in group["versions"]]
    return groups


def _asked(transport: HttpTransport, path: str, accept: str = "application/json") -> Any:
    return json.loads(transport.send(Request(method="GET", path=path, headers={"accept": accept})).body)


if __name__ == "__main__":
    main()

"""Objects that were sent to a real kube-apiserver 1.36.3, with what it stored or said: the same must come out here.

Each file in `vectors/` holds one schema and its cases. Causes are compared as sets of (reason, field, message): the server walks
Go maps, so its order is not one.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from fiferail.objects.schema import coerce, default, listtypes, parse, validate

if TYPE_CHECKING:
    from fiferail.objects.schema.model import Schema

VECTORS = Path(__file__).parent / "vectors"


def created(spec: Any, schema: Schema) -> dict[str, Any]:
    """What the CRD handler makes of an object with this spec: what it stores, the causes of its refusal, or the text of a 400."""
    try:
        tree, _ = coerce.decode({"apiVersion": "b.io/v1", "kind": "T", "metadata": {"name": "x"}, "spec": spec}, schema)
    except coerce.DecodeRefused as refusal:
        return {"refused": str(refusal)}
    tree = default.default(tree, schema)
    errors = validate.validate(tree, schema) + coerce.embedded_flaws(tree, schema) + listtypes.duplicates(tree, schema)
    if errors:
        return {"causes": sorted([error.reason, error.field, error.message] for error in errors)}
    return {"stored": tree.get("spec")}


def load(name: str) -> tuple[Any, list[Any]]:
    """A schema and its cases."""
    content = json.loads((VECTORS / name).read_text())
    return content["schema"], [pytest.param(case, id=json.dumps(case["spec"])[:60]) for case in content["cases"]]


CREATE_SCHEMA, CREATE_CASES = load("create.json")
EMBEDDED_SCHEMA, EMBEDDED_CASES = load("embedded.json")


@pytest.mark.parametrize("case", CREATE_CASES)
def test_a_created_object_is_stored_or_refused_as_by_the_real_server(case: Any) -> None:
    """Pruning, defaulting and validation together give the stored spec, or the causes, of the real server."""
    assert created(case["spec"], parse.parse_schema(CREATE_SCHEMA)) == {name: value for name, value in case.items() if name != "spec"}


@pytest.mark.parametrize("case", EMBEDDED_CASES)
def test_an_embedded_resource_is_read_through_its_type_as_by_the_real_server(case: Any) -> None:
    """Metadata of embedded resources is cleaned, judged or refused in the real server's words."""
    assert created(case["spec"], parse.parse_schema(EMBEDDED_SCHEMA)) == {name: value for name, value in case.items() if name != "spec"}

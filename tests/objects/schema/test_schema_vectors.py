"""Objects that were sent to a real kube-apiserver 1.36.3, with what it stored or said: the same must come out here.

Each file in `vectors/` holds one schema and its cases. Causes are compared as sets of (reason, field, message): the server walks
Go maps, so its order is not one.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from fairlead.objects.schema import default, listtypes, parse, prune, validate
from fairlead.objects.schema.model import Schema

VECTORS = Path(__file__).parent / "vectors"


def created(spec: Any, schema: Schema) -> tuple[Any, list[Any]]:
    """An object with this spec as the CRD handler stores it, or the causes of its refusal."""
    tree, _ = prune.prune({"apiVersion": "b.io/v1", "kind": "T", "metadata": {"name": "x"}, "spec": spec}, schema)
    tree = default.default(default.drop_nulls(tree, schema), schema)
    errors = validate.validate(tree, schema) + listtypes.duplicates(tree, schema)
    return tree.get("spec"), sorted([error.reason, error.field, error.message] for error in errors)


def load(name: str) -> tuple[Any, list[Any]]:
    """A schema and its cases."""
    content = json.loads((VECTORS / name).read_text())
    return content["schema"], [pytest.param(case, id=json.dumps(case["spec"])[:60]) for case in content["cases"]]


CREATE_SCHEMA, CREATE_CASES = load("create.json")


@pytest.mark.parametrize("case", CREATE_CASES)
def test_a_created_object_is_stored_or_refused_as_by_the_real_server(case: Any) -> None:
    """Pruning, defaulting and validation together give the stored spec, or the causes, of the real server."""
    spec, causes = created(case["spec"], parse.parse_schema(CREATE_SCHEMA))
    assert causes == case.get("causes", [])
    if "stored" in case:
        assert spec == case["stored"]

"""The converter's words for trees that do not fit a Go type, and the patch that a refusal quotes."""

from __future__ import annotations

from typing import Any

import pytest

from fiferail.apiserver.builtin import converter, gotypes
from fiferail.objects import strategic


@pytest.mark.parametrize(
    ("kind", "tree", "expected"),
    [
        ("ConfigMap", {"immutable": "x"}, "unrecognized type: bool"),
        ("ConfigMap", {"data": {"k": 5}, "immutable": "x"}, "unrecognized type: bool"),
        ("ConfigMap", {"data": {"k": 5}}, "cannot convert int64 to string"),
        ("ConfigMap", {"data": {"k": 0.5}}, "unrecognized type: string"),
        ("ConfigMap", {"data": []}, "cannot restore map from slice"),
        ("ConfigMap", {"metadata": "x"}, "cannot restore struct from: string"),
        ("ConfigMap", {"metadata": {"finalizers": {}}}, "cannot restore slice from map"),
        ("ConfigMap", {"binaryData": {"k": "%"}}, "error decoding from json: illegal base64 data at input byte 0"),
        ("Secret", {"type": 1}, "cannot convert int64 to v1.SecretType"),
        ("Pod", {"spec": {"terminationGracePeriodSeconds": "x"}}, "unrecognized type: int64"),
        ("Pod", {"spec": {"terminationGracePeriodSeconds": 1.5}}, "cannot convert float64 to int64"),
        ("ConfigMap", {"data": {"k": None}, "immutable": None}, ""),
    ],
    ids=lambda value: None if isinstance(value, str) else str(value)[:40],
)
def test_misfit(kind: str, tree: Any, expected: str) -> None:
    """The first member of the struct, in its order in Go, that the value does not fit is told in the converter's words."""
    assert converter.flaw(tree, gotypes.of_kind("", "v1", kind)) == expected


@pytest.mark.parametrize(
    ("patch", "live", "expected"),
    [
        ({"labels": {"a": None}}, {}, {"labels": {}}),
        ({"labels": {"a": None}}, {"labels": {"a": "b"}}, {"labels": {"a": None}}),
        ({"labels": {"$patch": "replace", "a": "b"}}, {"labels": {}}, {"labels": {"a": "b"}}),
        ({"labels": {"$patch": "delete"}}, {"labels": {}}, {"labels": {"$patch": "delete"}}),
        ({"list": [{"$patch": "delete"}, {"a": None}]}, {}, {"list": [{}]}),
    ],
    ids=["null under nothing", "null that removes", "replace", "delete", "list under nothing"],
)
def test_spent_patch(patch: Any, live: Any, expected: Any) -> None:
    """The merge takes nulls and directives out of the patch where the object had nothing to merge with."""
    assert strategic.spent(patch, live) == expected

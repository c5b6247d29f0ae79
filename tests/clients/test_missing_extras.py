"""A feature whose extra is not installed says which one, in one line."""

from __future__ import annotations

import sys

import pytest

import fiferail
from fiferail.errors import FiferailError


def test_kopf_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """When the decorator is used."""
    monkeypatch.setitem(sys.modules, "kopf", None)
    with pytest.raises(FiferailError) as refused:
        fiferail.kopf.requeue_conflicts(lambda: None)
    text = "requeue_conflicts needs the extra `kopf` (kopf is not installed); in a checkout of fiferail: pip install '.[kopf]'"
    assert str(refused.value) == text

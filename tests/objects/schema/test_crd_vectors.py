"""CustomResourceDefinitions that were sent to a real kube-apiserver 1.36.3, with the causes of its answer: none for those it took."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from fiferail.errors import Unsupported
from fiferail.objects.schema import crd

CASES = json.loads((Path(__file__).parent / "vectors" / "crds.json").read_text())


def said(errors: list[Any]) -> list[list[str]]:
    """Errors as causes, in an order that does not depend on Go's maps."""
    return sorted([error.reason, error.field, error.message] for error in errors)


@pytest.mark.parametrize("case", [pytest.param(case, id=case["id"]) for case in CASES])
def test_a_crd_is_taken_or_refused_as_by_the_real_server(case: Any) -> None:
    """Every cause, with field, reason and message, is the real server's."""
    assert said(crd.validate_crd(crd.default_crd(case["crd"]))) == case["causes"]


def served(**spec: Any) -> dict[str, Any]:
    """A small CRD as it is stored."""
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": {"type": "object"}}}
    names = {"plural": "gadgets", "kind": "Gadget"}
    whole = {"group": "b.io", "scope": "Namespaced", "names": names, "versions": [version], **spec}
    return dict(crd.default_crd({"metadata": {"name": "gadgets.b.io"}, "spec": whole}))


def test_defaults_are_filled_in() -> None:
    """Singular and list names come from the kind, conversion is None, the storage version is stored."""
    stored = served()
    assert stored["spec"]["names"] == {"plural": "gadgets", "kind": "Gadget", "singular": "gadget", "listKind": "GadgetList"}
    assert stored["spec"]["conversion"] == {"strategy": "None"}
    assert stored["status"] == {"storedVersions": ["v1"]}
    assert crd.default_crd(stored) is stored


def test_group_and_plural_never_change_and_scope_and_kind_only_until_established() -> None:
    """An established CRD has four immutable fields, one that is not has two."""
    old = served()
    new = served(group="c.io", scope="Cluster", names={"plural": "gizmos", "kind": "Gizmo"})
    immutable = [error.field for error in crd.validate_crd(new, old) if error.detail == "field is immutable"]
    assert immutable == ["spec.group", "spec.names.plural"]
    established = {**old, "status": {**old["status"], "conditions": [{"type": "Established", "status": "True"}]}}
    immutable = [error.field for error in crd.validate_crd(new, established) if error.detail == "field is immutable"]
    assert immutable == ["spec.scope", "spec.names.kind", "spec.group", "spec.names.plural"]


def test_a_stored_version_must_stay() -> None:
    """A version that objects may still be stored in cannot leave spec.versions."""
    changed = {**served(), "status": {"storedVersions": ["v0", "v1"]}}
    (error,) = crd.validate_crd(changed, served())
    assert error.field == "status.storedVersions[0]"
    assert error.detail.startswith("missing from spec.versions; v0 was previously a storage version")


def test_a_conversion_webhook_is_refused_by_name() -> None:
    """The embedded server calls nobody, so it says that it cannot."""
    with pytest.raises(Unsupported, match="conversion webhooks"):
        crd.validate_crd(served(conversion={"strategy": "Webhook"}))

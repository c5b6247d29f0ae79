"""How a kind and the resource of a grant are matched."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from fiferail.audit import audit
from fiferail.audit.config import Config

if TYPE_CHECKING:
    from pathlib import Path

SOURCE = """package controllers

import (
	"context"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "example.io/api/v1"
)

type Reconciler struct{ client.Client }

// +kubebuilder:rbac:groups=example.io,resources=gadgetsettings/status,verbs=get;GRANTED

func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	settings := &v1.GadgetSettings{}
	return ctrl.Result{}, r.Status().Update(ctx, settings)
}
"""


def test_a_kind_may_have_no_plural_at_all(tmp_path: Path) -> None:
    """A marker for gadgetcommunity/status grants what is written to GadgetCommunity."""
    (tmp_path / "go.mod").write_text("module example.io/gadget\n")
    source = SOURCE.replace("GRANTED", "update").replace("gadgetsettings", "gadgetcommunity").replace("GadgetSettings", "GadgetCommunity")
    (tmp_path / "community.go").write_text(source)
    assert [one.code for one in audit([str(tmp_path)], Config(cache=False)).findings if one.code in ("FR013", "FR014")] == []


@pytest.mark.parametrize(("granted", "missing"), [("update", []), ("patch", ["update on gadgetsettings/status"])])
def test_a_kind_that_ends_in_s_may_be_its_own_plural(tmp_path: Path, granted: str, missing: list[str]) -> None:
    """A marker for gadgetsettings/status grants what is written to GadgetSettings, and names the resource where a verb is missing."""
    (tmp_path / "go.mod").write_text("module example.io/gadget\n")
    (tmp_path / "settings.go").write_text(SOURCE.replace("GRANTED", granted))
    findings = [one for one in audit([str(tmp_path)], Config(cache=False)).findings if one.code == "FR014"]
    assert [one.message.split(" needs ")[1].split(" and ")[0] for one in findings] == missing

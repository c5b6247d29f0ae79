"""What reading the operators' source says about the losses that the checker reports in their traces.

A trace differs a little from run to run, so a verdict is kept by operator and field. A field without one is shown as not judged.
"""

from __future__ import annotations

#: Operator, beginning of the field: the verdict, with the place in the source.
VERDICTS = {
    ("cluster-api", "metadata.ownerReferences"): (
        "true: `adoptOrphan` of the MachineDeployment controller sends the whole list in an unlocked merge patch, and removes the "
        "Cluster that the MachineSet controller has just added (machinedeployment_controller.go:343)"
    ),
    ("cluster-api", "status.conditions[NodeHealthy]"): (
        "true: `reconcileUnhealthyMachines` of the MachineSet controller deletes the Machine and then sends all conditions it had read in "
        "an unlocked merge patch, over those of the Machine controller (machineset_controller.go:1127)"
    ),
    ("kueue", "status.requeueState.requeueAt"): (
        "true, for a moment: the scheduler applies the whole admission status of its older copy without a resourceVersion, and brings back "
        "the time that the workload controller had cleared; the controller clears it again (scheduler.go:320 and 799, `WithLooseOnApply`)"
    ),
}


def verdict(operator: str, path: str) -> str:
    """The verdict about a field of an operator."""
    return next((text for (name, start), text in VERDICTS.items() if name == operator and path.startswith(start)), "not judged")

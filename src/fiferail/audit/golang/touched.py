"""Which part of the written object a function changes: the fields of its status, its spec, or its metadata alone.

Called by `frontend` once a function was walked. It reads the events of the walk, and corrects the target of a write that only touches
metadata or spec.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from fiferail.audit.golang.trees import flat, parts

if TYPE_CHECKING:
    from fiferail.audit.golang.walk import Walk
    from fiferail.audit.model import Site


def sets_status(body: list[Any]) -> bool:
    """Whether statements assign to a status, or hand a pointer into one to what does."""
    for one in flat(body):
        changed = one[1] if one[0] == "=" else []
        handed = [argument for argument in one[1][2] if argument[0] == "&"] if one[0] == "e" and one[1][0] == "c" else []
        if any(part[0] == "." and part[2] == "Status" for expr in (*changed, *handed) for part in parts(expr)):
            return True
    return False


def fill(site: Site, walk: Walk) -> None:
    """Which fields of the written object the function changes, and whether only metadata."""
    fields: list[str] = []
    lists: list[str] = []
    parts_changed: set[str] = set()
    subject = site.subject
    for event in walk.events:
        if event.what != "mutate" or not event.path:
            continue
        # A closure that a helper is given changes its own parameter: that is the object too.
        given = str(site.verb) == "helper" and site.line <= event.line <= site.end_line
        if not (given or event.subject == subject or _same_root(event.subject, subject)):
            continue
        first, _, rest = event.path.partition(".")
        parts_changed.add(first)
        if first == "Status":
            name = (rest.split(".")[0].split("[")[0] or "*").split("(")[0]
            name = name[:1].lower() + name[1:]
            if name not in fields:
                fields.append(name)
            if (name == "conditions" or event.detail.split("|")[0].split(" ")[0] in ("append", "list", "condition")) and name not in lists:
                lists.append(name if event.detail.split("|")[0] != "condition" else "conditions")
    site.fields, site.lists = tuple(fields), tuple(dict.fromkeys(lists))
    if site.helper == "patch helper" and parts_changed and "Status" not in parts_changed and not _passed_further(site, walk):
        site.target = "spec" if "Spec" in parts_changed else "metadata"
    if (
        str(site.target) == "spec"
        and parts_changed
        and parts_changed <= {"ObjectMeta", "Labels", "Annotations", "Finalizers", "OwnerReferences"}
        and str(site.verb) not in ("helper", "ssa")
    ):
        site.target = "metadata"


_HARMLESS = re.compile(
    r"(?:NewHelper|NewSerialPatcher|Get|Patch|KObj|KRef|ObjectKeyFromObject|Watch|GetLabels|GetAnnotations|EnsureOwnerRef|Wrapf?|Errorf|Info|Error"
    r"|AddAnnotations|Set|Delete|RemoveNodeTaint|SetControllerReference|SetLabels|AddFinalizer|RemoveFinalizer)$"
    r"|(?:^|\.)(?:Is|Has|Contains)[A-Z]\w*$"
)


def _passed_further(site: Site, walk: Walk) -> bool:
    """Whether the written object is given to functions that may change its status."""
    return any(event.what == "passed" and event.subject == site.subject and not _HARMLESS.search(event.detail) for event in walk.events)


def _same_root(left: str, right: str) -> bool:
    return left.split("[")[0] == right.split("[")[0]

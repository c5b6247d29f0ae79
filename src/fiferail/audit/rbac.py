"""What RBAC grants: kubebuilder markers in Go comments, and Role and ClusterRole documents given by path.

Called by `run`. Only what a rule needs is kept: resource, verbs, place. A YAML file that does not parse is skipped with a line that says
so.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from fiferail.audit.model import Grant, Skipped

if TYPE_CHECKING:
    from fiferail.audit.sources import Sources

_MARKER = re.compile(rb"^[ \t]*//[ \t]*\+kubebuilder:rbac:([^\r\n]*)", re.M)


def markers(path: str, source: bytes) -> list[Grant]:
    """Grants of the markers of one file: one per resource of each marker."""
    if b"+kubebuilder:rbac" not in source:
        return []
    out: list[Grant] = []
    for match in _MARKER.finditer(source):
        text = match.group(1).decode("utf-8", "replace").strip()
        values = dict(part.split("=", 1) for part in _split(text) if "=" in part)
        verbs = tuple(_list(values.get("verbs", "")))
        line = source.count(b"\n", 0, match.start()) + 1
        for group in _list(values.get("groups", "")) or [""]:
            span = (match.start(), match.end())
            out.extend(
                Grant(path, line, group, resource.lower(), verbs, True, text, span) for resource in _list(values.get("resources", ""))
            )
    return out


def _split(text: str) -> list[str]:
    """Commas separate keys, but not inside quotes or braces."""
    return re.split(r",(?=\w+=)", text)


def _list(text: str) -> list[str]:
    return [item.strip().strip("\"'") for item in re.split(r"[;,]", text.strip().strip("{}").strip('"')) if item.strip()]


def roles(sources: Sources) -> tuple[list[Grant], list[Skipped]]:
    """Grants of the roles in the YAML files that were given."""
    grants: list[Grant] = []
    skipped: list[Skipped] = []
    if not sources.yaml:
        return grants, skipped
    import yaml

    for path, data in sources.yaml.items():
        try:
            documents = list(yaml.load_all(data, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader)))
        except (yaml.YAMLError, UnicodeDecodeError) as problem:
            skipped.append(Skipped(path, f"is not YAML: {str(problem).splitlines()[0]}"))
            continue
        for document in documents:
            if isinstance(document, dict) and document.get("kind") in ("Role", "ClusterRole"):
                grants.extend(_of_role(path, data, document))
    return grants, skipped


def _of_role(path: str, data: bytes, document: dict[str, Any]) -> list[Grant]:
    out: list[Grant] = []
    for rule in document.get("rules") or []:
        if not isinstance(rule, dict):
            continue
        verbs = tuple(str(verb) for verb in rule.get("verbs") or [])
        for resource in rule.get("resources") or []:
            at = data.find(str(resource).encode())
            out.append(Grant(path, data.count(b"\n", 0, max(at, 0)) + 1, "", str(resource), verbs, False))
    return out

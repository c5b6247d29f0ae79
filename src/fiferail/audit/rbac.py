"""What RBAC grants: kubebuilder markers in Go comments, and Role and ClusterRole documents given by path.

Called by `run`. Only what a rule needs is kept: resource, verbs, place. A YAML file that does not parse, or a rule that is none, is skipped
with a line that says so.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from fiferail.audit.model import Grant, Skipped

if TYPE_CHECKING:
    from fiferail.audit.sources import Sources

_MARKER = re.compile(rb"^[ \t]*//[ \t]*\+kubebuilder:rbac:([^\r\n]*)", re.M)
_WORD = re.compile(rb"[^\s\[\]{},\"']+")


def markers(path: str, source: bytes) -> list[Grant]:
    """Grants of the markers of one file: one per resource of each marker."""
    if b"+kubebuilder:rbac" not in source:
        return []
    out: list[Grant] = []
    line, counted = 1, 0
    for match in _MARKER.finditer(source):
        text = match.group(1).decode("utf-8", "replace").strip()
        values = dict(part.split("=", 1) for part in _split(text) if "=" in part)
        verbs = tuple(_list(values.get("verbs", "")))
        line, counted = line + source.count(b"\n", counted, match.start()), match.start()
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

    from fiferail.audit import documents

    for path, data in sources.yaml.items():
        try:
            found = documents.load(data)
        except documents.TooMuch as problem:
            skipped.append(Skipped(path, str(problem)))
            continue
        except (yaml.YAMLError, ValueError, RecursionError) as problem:
            skipped.append(Skipped(path, f"is not YAML: {(str(problem) or type(problem).__name__).splitlines()[0]}"))
            continue
        lines = _first_lines(data)
        for document in found:
            if isinstance(document, dict) and document.get("kind") in ("Role", "ClusterRole"):
                _of_role(path, lines, document, grants, skipped)
    return grants, skipped


def _first_lines(data: bytes) -> dict[str, int]:
    """The line on which each word first stands."""
    out: dict[str, int] = {}
    for number, line in enumerate(data.split(b"\n"), 1):
        for word in _WORD.findall(line):
            out.setdefault(word.decode("utf-8", "replace"), number)
    return out


def _of_role(path: str, lines: dict[str, int], document: dict[str, Any], grants: list[Grant], skipped: list[Skipped]) -> None:
    for rule in _texts(path, document, "rules", skipped):
        if not isinstance(rule, dict):
            skipped.append(Skipped(path, f"expected a map in `rules`, got {_shown(rule)}"))
            continue
        verbs = tuple(str(verb) for verb in _texts(path, rule, "verbs", skipped))
        resources = [str(resource) for resource in _texts(path, rule, "resources", skipped)]
        grants.extend(Grant(path, lines.get(resource, 1), "", resource, verbs, False) for resource in resources)


def _texts(path: str, where: dict[str, Any], name: str, skipped: list[Skipped]) -> list[Any]:
    """A list of a role; nothing, and a line that says so, where something else stands in its place."""
    value = where.get(name) or []
    if isinstance(value, list):
        return value
    skipped.append(Skipped(path, f"expected a list at `{name}`, got {_shown(value)}"))
    return []


def _shown(value: Any) -> str:
    if isinstance(value, str):
        return f"`{value[:40]}`"
    return "a map" if isinstance(value, dict) else "a list"

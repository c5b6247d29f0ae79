"""From finding to proof: a pytest that plays the interleaving of one finding on the `apiserver` fixture.

Called by `fairlead audit --explain N`. The test asserts that nothing is lost, so it fails as long as the writer writes as the finding
says, and passes once it is mended.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from fairlead.audit.config import ConfigError

if TYPE_CHECKING:
    from fairlead.audit.model import Finding, Report

_TEMPLATE = '''"""{code} {slug}: {message}.

Found at {place}. `{writer}` and `{rival}` both write the status of {kind}. The test fails while `{writer}` writes as it does now.
Run it with: pytest {file}
"""

API_VERSION = "audit.fairlead.dev/v1"
CRD = {{
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {{"name": "{plural}.audit.fairlead.dev"}},
    "spec": {{
        "group": "audit.fairlead.dev",
        "scope": "Namespaced",
        "names": {{"plural": "{plural}", "singular": "{singular}", "kind": "{kind}", "listKind": "{kind}List"}},
        "versions": [{{
            "name": "v1", "served": True, "storage": True, "subresources": {{"status": {{}}}},
            "schema": {{"openAPIV3Schema": {{"type": "object", "x-kubernetes-preserve-unknown-fields": True}}}},
        }}],
    }},
}}
OBJECT = {{"apiVersion": API_VERSION, "kind": "{kind}", "metadata": {{"name": "one", "namespace": "default"}}}}


def {writer_name}(client, seen):
    """Writes as {place} does: {way}, decided from what it saw."""
{body}

def {rival_name}(client, seen):
    """The other writer: a careful one, so that whatever is lost is not its fault."""
    version = seen["metadata"]["resourceVersion"]
    client.patch(seen, {{"metadata": {{"resourceVersion": version}}, "status": {theirs}}}, type="merge", subresource="status")


def test_{test_name}(apiserver):
    """What {rival} stores between the other's read and write is still there afterwards, and so is what {writer} decided."""
    apiserver.apply(CRD, OBJECT)
    client = apiserver.client
    seen = client.get(API_VERSION, "{kind}", "one", namespace="default")      # {writer} reads
    {rival_name}(client, client.get(API_VERSION, "{kind}", "one", namespace="default"))
    {call}
    status = client.get(API_VERSION, "{kind}", "one", namespace="default")["status"]
{checks}
'''


def explain(report: Report, number: int) -> str:
    finding = next((one for one in report.findings if one.number == number), None)
    if finding is None:
        raise ConfigError(f"expected --explain to be between 1 and {len(report.findings)}, got {number}")
    if not finding.sites:
        raise ConfigError(f"finding {number} ({finding.code}) is not about two writers: there is no interleaving to play")
    return _test(finding)


def _test(finding: Finding) -> str:
    site = finding.sites[0]
    kind = re.sub(r"\W", "", site.kind) or "Thing"
    writers = [name for name in finding.writers if name]
    writer = writers[0] if writers else site.controller or site.function
    rival = writers[1] if len(writers) > 1 else "another writer"
    field = next((name for name in site.fields if name not in ("*", "conditions")), "phase")
    listed = site.lists[0] if site.lists else ""
    way = str(site.way)
    values = {
        "code": finding.code,
        "slug": finding.slug,
        "message": finding.message,
        "place": site.place,
        "writer": writer,
        "rival": rival,
        "kind": kind,
        "file": f"test_{finding.code.lower()}_{kind.lower()}.py",
        "plural": _plural(kind),
        "singular": kind.lower(),
        "writer_name": _name(writer, "first"),
        "rival_name": _name(rival, "second"),
        "way": way,
        "test_name": f"{finding.code.lower()}_{_name(kind, 'thing')}",
    }
    if values["writer_name"] == values["rival_name"]:
        values["rival_name"] += "_again"
    if listed:
        values["theirs"] = f'{{"{listed}": [*seen.get("status", {{}}).get("{listed}", []), {_entry(listed, "Theirs")}]}}'
        values["body"] = _body(way, f'{{"{listed}": [*seen.get("status", {{}}).get("{listed}", []), {_entry(listed, "Mine")}]}}')
        values["checks"] = _check(f'{_entry(listed, "Theirs")} in status["{listed}"]', rival, listed) + _check(
            f'{_entry(listed, "Mine")} in status["{listed}"]', writer, listed
        )
    elif way in ("merge-patch", "ssa"):
        values["theirs"] = f'{{"{field}": "theirs"}}'
        values["body"] = _body(way, f'{{"{field}": "mine"}} if "{field}" not in seen.get("status", {{}}) else {{}}')
        values["checks"] = _check(f'status["{field}"] == "theirs"', rival, field)
    else:
        values["theirs"] = '{"theirs": "stored"}'
        values["body"] = _body(way, f'{{**seen.get("status", {{}}), "{field}": "mine"}}')
        values["checks"] = _check('status["theirs"] == "stored"', rival, "theirs") + _check(
            f'status.get("{field}") == "mine"', writer, field
        )
    values["call"] = _call(finding, values["writer_name"])
    return _TEMPLATE.format(**values)


def _body(way: str, status: str) -> str:
    if way == "update":
        return f'    client.replace({{**seen, "status": {status}}}, subresource="status")\n'
    if way == "merge-patch-locked":
        return (
            '    version = seen["metadata"]["resourceVersion"]\n'
            f'    body = {{"metadata": {{"resourceVersion": version}}, "status": {status}}}\n'
            '    client.patch(seen, body, type="merge", subresource="status")\n'
        )
    if way == "ssa":
        return (
            '    body = {"apiVersion": API_VERSION, "kind": seen["kind"], "metadata": {"name": seen["metadata"]["name"]}, '
            f'"status": {status}}}\n'
            '    client.patch(seen, body, type="apply", subresource="status", field_manager="first", force=True)\n'
        )
    return f'    client.patch(seen, {{"status": {status}}}, type="merge", subresource="status")\n'


def _call(finding: Finding, name: str) -> str:
    if finding.code == "FL009":
        return (
            f"try:\n        {name}(client, seen)\n    except Exception as problem:                # swallowed, as the "
            f"finding says\n        print(problem)"
        )
    return f"{name}(client, seen)"


def _check(condition: str, owner: str, field: str) -> str:
    return f'    assert {condition}, "lost: {field}, written by {owner}"\n'


def _entry(name: str, value: str) -> str:
    return f'{{"type": "{value}", "status": "True"}}' if name == "conditions" else f'"{value.lower()}"'


def _plural(kind: str) -> str:
    return kind.lower() + "s"


def _name(text: str, otherwise: str) -> str:
    snake = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", text.rsplit(".", 1)[-1]).lower()
    return re.sub(r"\W+", "_", snake).strip("_") or otherwise

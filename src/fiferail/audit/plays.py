"""How each kind of finding is played on an API server: what the writer does, what the other does in between, and what must be there.

Called by `explain`, which puts a play into a pytest. A play shows the loss that its finding speaks of; a finding that is about no loss
(a missing grant, two writes where one would do) has none, and `explain` says so. Names of the audited source enter as string literals only.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from fiferail.audit.quoting import literal

if TYPE_CHECKING:
    from fiferail.audit.model import Finding, Site

_PRESERVED = '{"type": "object", "x-kubernetes-preserve-unknown-fields": True}'
_LOSSES = {"FR001", "FR002", "FR003", "FR004", "FR006", "FR007", "FR008", "FR009", "FR010", "FR016", "FR017"}
_LOSSES_IN_PYTHON = {"kopf-list", "typed-put"}


@dataclass(slots=True)
class Play:
    """`body` is the writer's, `theirs` what the other stores, `call` how the writer is run, `checks` what is asserted."""

    body: str
    theirs: str
    checks: str
    call: str
    versions: str = ""
    #: Whether the writer takes a function that runs between its two writes.
    between: bool = False


def play(finding: Finding, site: Site, writer: str, rival: str, name: str) -> Play | None:
    """The play of a finding; nothing where no update is lost. `name` is the writer's function."""
    if finding.code not in _LOSSES or (finding.code == "FR017" and not _LOSSES_IN_PYTHON & set(site.notes)):
        return None
    field = next((one for one in site.fields if one not in ("*", "conditions")), "phase")
    if finding.code == "FR006":
        return _late(field, writer, name)
    if finding.code == "FR007":
        carried = site.verb == "update" or "older than" not in finding.message
        return _carried(field, rival, name) if carried else _older(field, rival, name)
    if finding.code == "FR008":
        return _again(site, field, writer, name)
    if finding.code == "FR016":
        return _versions(field, rival, name)
    if finding.code == "FR010" and not site.force:
        return _applied(field, rival, name)
    if "typed-put" in site.notes and finding.code == "FR017":
        return _typed(field, rival, name)
    return _written(finding, site, field, writer, rival, name)


def schema(versions: str) -> str:
    """The versions of the CRD: one that keeps whatever it is given, unless the play is about versions."""
    return versions or _version("v1", _PRESERVED)


def _version(name: str, structure: str) -> str:
    stored = f'"served": True, "storage": {name == "v1"}'
    return f'{{"name": "{name}", {stored}, "subresources": {{"status": {{}}}}, "schema": {{"openAPIV3Schema": {structure}}}}}'


def _written(finding: Finding, site: Site, field: str, writer: str, rival: str, name: str) -> Play:
    """The writer decides from what it saw and writes in its own way."""
    way = str(site.way)
    call = f"{name}(client, seen)"
    if finding.code == "FR009":
        call = _caught(name, "swallowed, as the finding says")
    elif finding.code == "FR001":
        call = _caught(name, "refused: nothing of this reconcile is stored")
    key = literal(site.lists[0] if site.lists else field)
    if site.lists:
        listed = site.lists[0]
        old = f'*seen.get("status", {{}}).get({key}, [])'
        theirs, mine = _entry(listed, "Theirs"), _entry(listed, "Mine")
        checks = check(f'{theirs} in status[{key}]', rival, listed) + check(f'{mine} in status[{key}]', writer, listed)
        return Play(_body(way, f'{{{key}: [{old}, {mine}]}}'), f'{{{key}: [{old}, {theirs}]}}', checks, call)
    if way in ("merge-patch", "ssa"):
        body = _body(way, f'{{{key}: "mine"}} if {key} not in seen.get("status", {{}}) else {{}}')
        return Play(body, f'{{{key}: "theirs"}}', check(f'status[{key}] == "theirs"', rival, field), call)
    body = _body(way, f'{{**seen.get("status", {{}}), {key}: "mine"}}')
    checks = check('status["theirs"] == "stored"', rival, "theirs") + check(f'status.get({key}) == "mine"', writer, field)
    return Play(body, '{"theirs": "stored"}', checks, call)


def _late(field: str, writer: str, name: str) -> Play:
    key = literal(field)
    body = (
        f'    changed = {{**seen, "status": {{**seen.get("status", {{}}), {key}: "mine"}}}}\n'
        "    base = changed                                   # taken after the change, or the same object\n"
        '    difference = {key: value for key, value in changed["status"].items() if base["status"].get(key) != value}\n'
        '    client.patch(seen, {"status": difference}, type="merge", subresource="status")\n'
    )
    checks = check(f'status.get({key}) == "mine"', writer, field)
    return Play(body, '{"theirs": "stored"}', checks, f"{name}(client, seen)")


def _carried(field: str, rival: str, name: str) -> Play:
    key = literal(field)
    body = (
        '    fresh = client.get(API_VERSION, seen["kind"], seen["metadata"]["name"], namespace="default")\n'
        f'    carried = {{**seen.get("status", {{}}), {key}: "mine"}}       # old values under a fresh resourceVersion\n'
        '    client.replace({**fresh, "status": carried}, subresource="status")\n'
    )
    return Play(body, '{"theirs": "stored"}', check('status.get("theirs") == "stored"', rival, "theirs"), f"{name}(client, seen)")


def _older(field: str, rival: str, name: str) -> Play:
    key = literal(field)
    body = (
        '    moved = client.patch(seen, {"metadata": {"annotations": {"written": "first"}}}, type="merge")   # its own earlier write\n'
        "    between()\n"
        f'    wanted = {{**moved.get("status", {{}}), {key}: "mine"}}\n'
        '    difference = {key: value for key, value in wanted.items() if seen.get("status", {}).get(key) != value}\n'
        '    client.patch(moved, {"status": difference}, type="merge", subresource="status")\n'
    )
    again = '{"status": {"theirs": "newer"}}'
    call = f'{name}(client, seen, lambda: client.patch(seen, {again}, type="merge", subresource="status"))'
    return Play(body, '{"theirs": "stored"}', check('status["theirs"] == "newer"', rival, "theirs"), call, between=True)


def _again(site: Site, field: str, writer: str, name: str) -> Play:
    key = literal(field)
    body = "    for _ in range(3):\n        try:\n"
    body += "".join(f"        {line}\n" for line in _body(str(site.way), f'{{**seen.get("status", {{}}), {key}: "mine"}}').splitlines())
    body += "            return\n        except Exception as problem:                # and again, with the same copy\n"
    body += "            print(problem)\n"
    return Play(body, '{"theirs": "stored"}', check(f'status.get({key}) == "mine"', writer, field), f"{name}(client, seen)")


def _applied(field: str, rival: str, name: str) -> Play:
    key = literal(field)
    body = _body("ssa-unforced", f'{{{key}: "mine"}} if {key} not in seen.get("status", {{}}) else {{}}')
    other = f'{{"apiVersion": API_VERSION, "kind": seen["kind"], "metadata": {{"name": "one"}}, "status": {{{key}: "theirs"}}}}'
    call = (
        f'client.patch(seen, {other}, type="apply", subresource="status", field_manager="first")   # a second reconcile\n'
        f"    {name}(client, seen)"
    )
    return Play(body, "{}", check(f'status[{key}] == "theirs"', rival, field), call)


def _typed(field: str, rival: str, name: str) -> Play:
    key = literal(field)
    body = (
        '    fresh = client.get(API_VERSION, seen["kind"], seen["metadata"]["name"], namespace="default")\n'
        f'    known = {{key: value for key, value in fresh.get("status", {{}}).items() if key == {key}}}   # what the model has\n'
        f'    client.replace({{**fresh, "status": {{**known, {key}: "mine"}}}}, subresource="status")\n'
    )
    return Play(body, '{"theirs": "stored"}', check('status.get("theirs") == "stored"', rival, "theirs"), f"{name}(client, seen)")


def _versions(field: str, rival: str, name: str) -> Play:
    key = literal(field)
    text = '{"type": "string"}'
    known = {"v1beta1": f'{key}: {text}', "v1": f'{key}: {text}, "theirs": {text}'}
    status = {name: f'{{"status": {{"type": "object", "properties": {{{fields}}}}}}}' for name, fields in known.items()}
    versions = ", ".join(_version(name, f'{{"type": "object", "properties": {fields}}}') for name, fields in status.items())
    body = (
        '    older = {**seen, "apiVersion": "audit.fiferail.dev/v1beta1"}        # a version that does not know the other\'s field\n'
        f'    client.patch(older, {{"status": {{{key}: "mine"}}}}, type="merge", subresource="status")\n'
    )
    return Play(body, '{"theirs": "stored"}', check('status.get("theirs") == "stored"', rival, "theirs"), f"{name}(client, seen)", versions)


def _body(way: str, status: str) -> str:
    if way == "update":
        return f'    client.replace({{**seen, "status": {status}}}, subresource="status")\n'
    if way == "merge-patch-locked":
        return (
            '    version = seen["metadata"]["resourceVersion"]\n'
            f'    body = {{"metadata": {{"resourceVersion": version}}, "status": {status}}}\n'
            '    client.patch(seen, body, type="merge", subresource="status")\n'
        )
    if way in ("ssa", "ssa-unforced"):
        force = ", force=True" if way == "ssa" else ""
        return (
            '    body = {"apiVersion": API_VERSION, "kind": seen["kind"], "metadata": {"name": seen["metadata"]["name"]}, '
            f'"status": {status}}}\n'
            f'    client.patch(seen, body, type="apply", subresource="status", field_manager="first"{force})\n'
        )
    return f'    client.patch(seen, {{"status": {status}}}, type="merge", subresource="status")\n'


def _caught(name: str, why: str) -> str:
    return f"try:\n        {name}(client, seen)\n    except Exception as problem:                # {why}\n        print(problem)"


def check(condition: str, owner: str, field: str) -> str:
    return f"    assert {condition}, {literal(f'lost: {field}, written by {owner}')}\n"


def _entry(name: str, value: str) -> str:
    return f'{{"type": "{value}", "status": "True"}}' if name == "conditions" else f'"{value.lower()}"'

"""From finding to proof: a pytest that plays the interleaving of one finding on the `apiserver` fixture.

Called by `fiferail audit --explain N`. The test asserts that nothing is lost, so it fails as long as the writer writes as the finding
says, and passes once it is fixed. What comes from the audited tree enters the test as text in strings and comments, never as code.
"""

from __future__ import annotations

import builtins
import keyword
import re
from typing import TYPE_CHECKING

from fiferail.audit.config import ConfigError
from fiferail.audit.plays import Play, play, schema
from fiferail.audit.quoting import comment, inner

if TYPE_CHECKING:
    from fiferail.audit.model import Finding, Report

_LONGEST = 60
# Names that mean something in the printed test.
_TAKEN = {*keyword.kwlist, *keyword.softkwlist, *dir(builtins), "apiserver", "between", "client", "seen", "status"}

_TEMPLATE = '''"""{code} {slug}: {message}.

Found at {place}. `{writer}` and `{rival}` both write the status of {kind}. The test fails while `{writer}` writes as it does now.
Run it with: pytest {file}
"""

API_VERSION = "audit.fiferail.dev/v1"
CRD = {{
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {{"name": "{plural}.audit.fiferail.dev"}},
    "spec": {{
        "group": "audit.fiferail.dev",
        "scope": "Namespaced",
        "names": {{"plural": "{plural}", "singular": "{singular}", "kind": "{kind}", "listKind": "{kind}List"}},
        "versions": [{versions}],
    }},
}}
OBJECT = {{"apiVersion": API_VERSION, "kind": "{kind}", "metadata": {{"name": "one", "namespace": "default"}}}}


def {writer_name}(client, seen{between}):
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
    seen = client.get(API_VERSION, "{kind}", "one", namespace="default")      # {writer_in_comment} reads
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
    kind = _kind(site.kind)
    writers = [name for name in finding.writers if name]
    writer = writers[0] if writers else site.controller or site.function
    rival = writers[1] if len(writers) > 1 else "another writer"
    writer_name, rival_name = _name(writer, "first"), _name(rival, "second")
    if writer_name == rival_name:
        rival_name += "_again"
    found = play(finding, site, writer, rival, writer_name)
    if found is None:
        raise ConfigError(f"finding {finding.number} ({finding.code}) is not about a lost update: there is no interleaving to play")
    return _TEMPLATE.format(
        code=finding.code,
        slug=finding.slug,
        message=inner(finding.message),
        place=inner(site.place),
        writer=inner(writer),
        writer_in_comment=comment(writer),
        rival=inner(rival),
        kind=kind,
        file=f"test_{finding.code.lower()}_{kind.lower()}.py",
        plural=_plural(kind),
        singular=kind.lower(),
        writer_name=writer_name,
        rival_name=rival_name,
        way=inner(str(site.way)),
        test_name=f"{finding.code.lower()}_{_name(kind, 'thing')}",
        **_parts(found),
    )


def _parts(found: Play) -> dict[str, str]:
    between = ", between" if found.between else ""
    return {
        "body": found.body,
        "theirs": found.theirs,
        "checks": found.checks,
        "call": found.call,
        "versions": schema(found.versions),
        "between": between,
    }


def _plural(kind: str) -> str:
    return kind.lower() + "s"


def _kind(text: str) -> str:
    """A name that a CustomResourceDefinition may have: letters and digits, a letter first."""
    letters = re.sub(r"[^A-Za-z0-9]", "", text)[:_LONGEST]
    return letters if letters[:1].isalpha() else f"Thing{letters}"


def _name(text: str, otherwise: str) -> str:
    """An identifier after a name of the audited source, that hides nothing which the test uses."""
    snake = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", text[-_LONGEST:].rsplit(".", 1)[-1]).lower()
    name = re.sub(r"[^a-z0-9]+", "_", snake).strip("_") or otherwise
    if name[0].isdigit() or name in _TAKEN or name.startswith("test_"):
        return f"{otherwise}_{name}"
    return name

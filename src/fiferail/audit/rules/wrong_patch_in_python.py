"""FR017 wrong-patch-in-python

What it does
    Finds four traps of Python's Kubernetes clients: a patch whose content type the client guesses wrong; a list assigned to kopf's
    `patch.status`; a typed model sent back as a whole; a 422 handled as a conflict, or a conflict of `patch.fns` expected as 409.
Why is this bad?
    kubernetes_asyncio sends a dict for a custom object's status as JSON patch unless told otherwise, and the server answers 400;
    kubernetes sends a list as merge patch; the dynamic clients and lightkube default to strategic merge, which custom resources
    refuse with 415. kopf writes `patch.status` by a plain merge patch, so a list there replaces the stored one. A typed model drops
    fields it does not know and cannot delete one. A failed `test` of a JSON patch is a 422, not a 409, and so is a schema violation:
    trying either again without looking is wrong for one of them.
Example
    ```python
    await api.patch_namespaced_custom_object_status(group, version, ns, plural, name, {"status": {"phase": "Running"}})
    patch.status["conditions"] = conditions
    ```
Use instead
    ```python
    await api.patch_namespaced_custom_object_status(..., body, _content_type="application/merge-patch+json")
    async with writer.session(body) as status:
        status.conditions.set("Ready", True, reason="AllUp")
    ```
Fix safety
    Safe: `_content_type="application/merge-patch+json"` is added to a call that has a dict for its body and no content type. The rest
    has no automatic fix.
Known limits
    Which client a name belongs to is read from the imports of the file.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fiferail.audit.rules.writing import finding

if TYPE_CHECKING:
    from fiferail.audit.model import Facts, Finding

CODE = "FR017"
SEVERITY = "error"
_TRAPS = {
    "content-type-guessed": (
        "leaves the content type of a patch to the client, which guesses wrong here: the server refuses it, or takes a "
        "list for a merge patch",
        'pass _content_type="application/merge-patch+json" (or the type that the body has)',
        "safe",
    ),
    "strategic-default": (
        "patches with the client's default, a strategic merge patch, which custom resources refuse with 415",
        "ask for a merge patch by name",
        "",
    ),
    "kopf-list": (
        "assigns a list to kopf's patch.status: the merge patch replaces the stored list, so an entry that another "
        "writer added since is erased",
        "write the list through fiferail's session, or give it one owner",
        "",
    ),
    "typed-put": (
        "sends a typed model back as a whole: fields that the model does not know are dropped from what another writer stored",
        "patch the fields that changed",
        "",
    ),
    "422-as-conflict": (
        "handles 422 as a conflict: a schema violation has the same code and would be tried again for ever",
        "tell a failed test (no causes) from an invalid object (causes) before trying again",
        "",
    ),
}


def check(facts: Facts, policy: str) -> list[Finding]:
    out = []
    for site in facts.sites:
        for note in site.notes:
            if site.language == "python" and note in _TRAPS:
                words, fix, fixable = _TRAPS[note]
                out.append(finding(CODE, [site], f"{site.function} {words}", fix, fixable=fixable))
    return out

"""The kubeconfig of an embedded server: one cluster, one user, one context, in a file that only its owner reads.

Called by `EmbeddedServer.kubeconfig`. Never replaces a file of somebody else unless it is told to: `~/.kube/config` may hold the
only copy of the credentials of a cluster. The file appears whole or not at all.
"""

from __future__ import annotations

import errno
import json
import os
import tempfile
from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

_MARK = "# Written by fiferail for a server in memory."
_TEMPLATE = """\
{mark}
apiVersion: v1
kind: Config
current-context: fiferail
clusters:
- name: fiferail
  cluster:
    server: {url}{unchecked}
contexts:
- name: fiferail
  context:
    cluster: fiferail
    user: fiferail
    namespace: default
users:
- name: fiferail
  user:
    token: {token}
"""


def text(url: str, token: str) -> str:
    """The content. A certificate, where there is one, is not checked: it is a test's."""
    unchecked = "\n    insecure-skip-tls-verify: true" if url.startswith("https:") else ""
    return _TEMPLATE.format(mark=_MARK, url=json.dumps(url), unchecked=unchecked, token=json.dumps(token))


def write(path: Path, url: str, token: str, *, force: bool = False) -> Path:
    """Writes it with mode 0600 and gives the path back."""
    target = path.resolve()  # a link stays a link
    if target.exists():
        if not target.is_file():
            raise OSError(errno.EINVAL, "not a regular file", str(path))
        if not force and not _ours(target):
            raise FileExistsError(errno.EEXIST, "was not written by fiferail", str(path))
    descriptor, draft = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)  # made with mode 0600
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(text(url, token))
        os.replace(draft, target)
    except BaseException:
        with suppress(OSError):
            os.unlink(draft)
        raise
    return path


def _ours(file: Path) -> bool:
    with file.open("rb") as content:
        return content.read(len(_MARK)) in (_MARK.encode(), b"")

"""Loading: which Go files can matter, lowered by two processes where that pays, or taken from the cache.

Called by `run`. A file can matter when its bytes hold the name of a write in the shape of a call, or the setup of a controller.
Everything else is lowered on
demand by `project`.
"""

from __future__ import annotations

from multiprocessing import get_context
from typing import TYPE_CHECKING, Any

import msgspec

from fiferail.audit.cache import fingerprint
from fiferail.audit.golang.lower import lower
from fiferail.audit.golang.project import GENERATED, GoFile, Project
from fiferail.audit.model import Skipped
from fiferail.audit.patterns import linear

if TYPE_CHECKING:
    from fiferail.audit.cache import Cache
    from fiferail.audit.sources import Sources

# Looked for one by one: a search for plain bytes is many times faster than one pattern with all of them.
_CERTAIN = (
    b"UpdateStatus(",
    b"ApplyStatus(",
    b"PatchStatus(",
    b"MergeFrom",
    b"SubResource(",
    b"ControllerManagedBy",
    b"CreateOrUpdate(",
    b"CreateOrPatch(",
    b"ResourceInterface",
    b"StatusWriter",
    b"SubResourceWriter",
    b"ModifyStatus(",
    b".ManageError",
    b".ManageSuccess",
    b".ManageOutcome",
    b".PatchService(",
)
_POSSIBLE = (
    b"Status(",
    b', "status")',
    b".Update(",
    b".Patch(",
    b".Create(",
    b".Delete(",
    b".DeleteAllOf(",
    b".Apply(",
    b".DeleteCollection(",
    # A chain that is split over lines.
    b"\tUpdate(",
    b"\tPatch(",
    b".status",
    b"Condition(",
    b"Conditions(",
)
# RE2 matches in linear time whatever the file holds; Python's matcher takes minutes for half a megabyte of `patchpatchpatch`.
_CONFIRMED = linear(
    rb"\.\s*(?:Status\(\)\s*\.|(?:Update|Patch|Apply)\w*Status\w*\(\s*[\w.]*(?:[cC]tx|[cC]ontext|[cC]lient)|\w*(?:[pP]atch|Update|Apply)\w*\([^\n]*\"status\"\)"
    rb"|(?:Update|Patch|Create|Delete|DeleteAllOf|Apply|DeleteCollection)\(\s*(?:[\w.]*[cC]tx\b|[\w.]*[cC]ontext\b)"
    rb"|(?:Update|Patch|Apply|Write|Persist|Save|Ensure|Set)\w*Conditions?\(\s*[\w.]*(?:[cC]tx|[cC]ontext|[cC]lient|kube)\w*\s*,"
    rb"|status(?:Updat|Patch|Writ|Report)\w*\(\s*[\w.]*[cC](?:tx|ontext)\b)"
    rb"|(?:[Pp]atcher|Helper)\.Patch\("
)
_PARALLEL_FROM = 1_500_000
_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder().decode


def load(sources: Sources, cache: Cache, *, tests: bool, generated: bool, processes: int = 2) -> tuple[Project, set[str], list[Skipped]]:
    """The project with its candidates lowered, the paths that are audited, and what did not parse."""
    files = {path: GoFile(path, data, _is_generated(path, data)) for path, data in sources.go.items()}

    def on_demand(data: bytes, bodies: bool) -> dict[str, Any]:
        key = fingerprint(data, bodies)
        stored = cache.get(key)
        if stored is None:
            stored = _encode(lower(data, bodies))
            cache.put(key, stored)
        return _decode(stored)  # type: ignore[no-any-return]

    project = Project(files, sources.modules, on_demand)
    audited = {path for path, file in files.items() if (tests or path not in sources.tests) and (generated or not file.generated)}
    candidates = [path for path in sorted(audited) if _can_matter(files[path].source)]
    missing: list[tuple[str, bytes]] = []
    for path in candidates:
        key = fingerprint(files[path].source, True)
        stored = cache.get(key)
        if stored is None:
            missing.append((path, key))
        else:
            project.attach(files[path], _decode(stored))
    for (path, key), stored in zip(missing, _lowered([files[path].source for path, _ in missing], processes), strict=True):
        cache.put(key, stored)
        project.attach(files[path], _decode(stored))
    skipped = [Skipped(path, "does not parse in full: what could be read of it was") for path in candidates if _broken(files[path])]
    return project, audited, skipped


def _can_matter(source: bytes) -> bool:
    if any(word in source for word in _CERTAIN):
        return True
    return any(word in source for word in _POSSIBLE) and _CONFIRMED.search(source) is not None


def _broken(file: GoFile) -> bool:
    return bool(file.facts and file.facts["broken"])


def _is_generated(path: str, data: bytes) -> bool:
    name = path.rsplit("/", 1)[-1]
    return (
        name.startswith("zz_generated") or name.endswith(".pb.go") or ".generated." in name or GENERATED.search(data, 0, 3000) is not None
    )


def _lowered(sources: list[bytes], processes: int) -> list[bytes]:
    total = sum(map(len, sources))
    if total < _PARALLEL_FROM or processes < 2:
        return [_encode(lower(data)) for data in sources]
    try:
        context = get_context("fork")
        with context.Pool(processes) as pool:
            return pool.map(_lower_one, sources, chunksize=max(1, len(sources) // (processes * 8)))
    except (OSError, ValueError):
        return [_encode(lower(data)) for data in sources]


def _lower_one(data: bytes) -> bytes:
    return _encode(lower(data))

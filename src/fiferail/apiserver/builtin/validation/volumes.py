"""Checks of the volumes of a pod. Sources that operators use are checked; of the rest only that there is one source."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ....objects.fielderrors import FieldError, duplicate, forbidden, invalid, not_supported, required
from ... import names
from .. import quantity
from .shapes import texts

if TYPE_CHECKING:
    from collections.abc import Callable

    from ....objects.tree import Json

    Check = Callable[[Json, str], list[FieldError]]

MODE = "must be a number between 0 and 0777 (octal), both inclusive"
_HOST_PATH_TYPES = ("", "DirectoryOrCreate", "Directory", "FileOrCreate", "File", "Socket", "CharDevice", "BlockDevice")
#: In the order in which the server looks for them; the second one found is refused under the given name.
_SOURCES = (
    "emptyDir", "hostPath", "gitRepo", "gcePersistentDisk", "awsElasticBlockStore", "secret", "nfs", "iscsi", "glusterfs", "flocker",
    "persistentVolumeClaim", "rbd", "cinder", "cephfs", "quobyte", "downwardAPI", "fc", "flexVolume", "configMap", "azureFile",
    "vsphereVolume", "photonPersistentDisk", "portworxVolume", "azureDisk", "storageos", "projected", "scaleIO", "csi", "ephemeral",
    "image",
)  # fmt: skip
_SHOWN = {"downwardAPI": "downwarAPI", "cephfs": "cephFS"}


def volumes(given: Json, at: str) -> tuple[set[str], list[FieldError]]:
    """The names of the volumes that are well formed, and what is wrong with the others."""
    good: set[str] = set()
    found: list[FieldError] = []
    for index, volume in enumerate(given or ()):
        place = f"{at}[{index}]"
        name = volume.get("name", "")
        own = _source(volume, place)
        own += texts(f"{place}.name", name, names.dns_label(name)) if name else [required(f"{place}.name")]
        if name in good:
            own.append(duplicate(f"{place}.name", name))
        if own:
            found += own
        else:
            good.add(name)
    return good, found


def _source(volume: Json, at: str) -> list[FieldError]:
    found: list[FieldError] = []
    present = [name for name in _SOURCES if volume.get(name) is not None]
    for position, name in enumerate(present):
        if position:
            found.append(forbidden(f"{at}.{_SHOWN.get(name, name)}", "may not specify more than 1 volume type"))
        elif name in _CHECKS:
            found += _CHECKS[name](volume[name], f"{at}.{name}")
    return found if present else [required(at, "must specify a volume type")]


def _empty_dir(source: Json, at: str) -> list[FieldError]:
    limit = source.get("sizeLimit")
    wrong = limit is not None and quantity.parse(limit).value < 0
    return [forbidden(f"{at}.sizeLimit", "SizeLimit field must be a valid resource quantity")] if wrong else []


def _host_path(source: Json, at: str) -> list[FieldError]:
    path = source.get("path", "")
    if not path:
        return [required(f"{at}.path")]
    found = no_backsteps(path, f"{at}.path")
    kind = source.get("type") or ""
    if kind not in _HOST_PATH_TYPES:
        found.append(not_supported(f"{at}.type", kind, sorted(_HOST_PATH_TYPES)))
    return found


def no_backsteps(path: str, at: str) -> list[FieldError]:
    """A path without `..`."""
    return [invalid(at, path, "must not contain '..'")] if ".." in path.split("/") else []


def descending(path: str, at: str) -> list[FieldError]:
    """A relative path that stays below where it starts."""
    found = [invalid(at, path, "must be a relative path")] if path.startswith("/") else []
    return found + no_backsteps(path, at)


def _mode(value: Json, at: str) -> list[FieldError]:
    return [] if value is None or 0 <= value <= 0o777 else [invalid(at, value, MODE)]


def _items(items: Json, at: str) -> list[FieldError]:
    found: list[FieldError] = []
    for index, item in enumerate(items or ()):
        place = f"{at}.items[{index}]"
        path = item.get("path", "")
        found += [] if item.get("key") else [required(f"{place}.key")]
        found += [] if path else [required(f"{place}.path")]
        found += _local(path, f"{place}.path")
        found += _mode(item.get("mode"), f"{place}.mode")
    return found


def _local(path: str, at: str) -> list[FieldError]:
    found = descending(path, at)
    if path.startswith("..") and not path.startswith("../"):
        found.append(invalid(at, path, "must not start with '..'"))
    return found


def _keyed(member: str) -> Check:
    def check(source: Json, at: str) -> list[FieldError]:
        found = [] if source.get(member) else [required(f"{at}.{member}")]
        return found + _mode(source.get("defaultMode"), f"{at}.defaultMode") + _items(source.get("items"), at)

    return check


def _claim(source: Json, at: str) -> list[FieldError]:
    return [] if source.get("claimName") else [required(f"{at}.claimName")]


def _projected(source: Json, at: str) -> list[FieldError]:
    found = _mode(source.get("defaultMode"), f"{at}.defaultMode")
    for index, one in enumerate(source.get("sources") or ()):
        place = f"{at}.sources[{index}]"
        for member in ("secret", "configMap"):
            part = one.get(member)
            if part is not None:
                found += [] if part.get("name") else [required(f"{place}.{member}.name")]
                found += _items(part.get("items"), f"{place}.{member}")
        token = one.get("serviceAccountToken")
        if token is not None:
            found += _token(token, f"{place}.serviceAccountToken")
    return found


def _token(token: Json, at: str) -> list[FieldError]:
    found = []
    seconds = token.get("expirationSeconds", 3600)
    if seconds < 600:
        found.append(invalid(f"{at}.expirationSeconds", seconds, "may not specify a duration less than 10 minutes"))
    if seconds > 1 << 32:
        found.append(invalid(f"{at}.expirationSeconds", seconds, "may not specify a duration larger than 2^32 seconds"))
    return found if token.get("path") else [*found, required(f"{at}.path")]


_CHECKS: dict[str, Check] = {
    "emptyDir": _empty_dir,
    "hostPath": _host_path,
    "secret": _keyed("secretName"),
    "configMap": _keyed("name"),
    "persistentVolumeClaim": _claim,
    "projected": _projected,
}

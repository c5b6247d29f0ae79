"""Checks of PersistentVolumeClaim, PersistentVolume and StorageClass."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ....objects.fielderrors import FieldError, forbidden, invalid, not_supported, required
from ....objects.tree import same
from ... import names
from .. import quantity
from .shapes import immutable, label_selector, texts

if TYPE_CHECKING:
    from ....objects.tree import Json

_MODES = ("ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod")
_FIXED = "spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims"
_NOT_SOURCES = frozenset((
    "capacity", "accessModes", "claimRef", "persistentVolumeReclaimPolicy", "storageClassName", "mountOptions", "volumeMode",
    "nodeAffinity", "volumeAttributesClassName",
))  # fmt: skip


def claim(obj: Json) -> list[FieldError]:
    return claim_spec(obj["spec"], "spec")


def claim_spec(spec: Json, at: str) -> list[FieldError]:
    """The spec of a claim, or of a claim template."""
    modes = spec.get("accessModes") or []
    found = [] if modes else [required(f"{at}.accessModes", "at least 1 access mode is required")]
    found += label_selector(spec.get("selector"), f"{at}.selector")
    found += [not_supported(f"{at}.accessModes", mode, _MODES) for mode in modes if mode not in _MODES]
    if "ReadWriteOncePod" in modes and any(mode in _MODES and mode != "ReadWriteOncePod" for mode in modes):
        found.append(forbidden(f"{at}.accessModes", "may not use ReadWriteOncePod with other access modes"))
    storage = ((spec.get("resources") or {}).get("requests") or {}).get("storage")
    if storage is None:
        found.append(required(f"{at}.resources[storage]"))
    elif quantity.parse(storage).value <= 0:
        found.append(invalid(f"{at}.resources[storage]", storage, "must be greater than zero"))
    if spec.get("storageClassName"):
        found += texts(f"{at}.storageClassName", spec["storageClassName"], names.dns_subdomain(spec["storageClassName"]))
    if spec.get("volumeMode") not in (None, "Block", "Filesystem"):
        found.append(not_supported(f"{at}.volumeMode", spec["volumeMode"], ("Block", "Filesystem")))
    if spec.get("volumeAttributesClassName"):
        found += texts(
            f"{at}.volumeAttributesClassName", spec["volumeAttributesClassName"], names.dns_subdomain(spec["volumeAttributesClassName"])
        )
    return found


def claim_update(new: Json, old: Json) -> list[FieldError]:
    """A changed claim. The server adds a diff of its internal structs to the error about the spec; this does not."""
    found = claim(new)
    spec, before = dict(new["spec"]), dict(old["spec"])
    if not before.get("volumeName") and spec.get("volumeName"):
        before["volumeName"] = spec["volumeName"]
    if before.get("storageClassName") is None:
        spec.pop("storageClassName", None)
    if (new.get("status") or {}).get("phase") == "Bound":
        spec["resources"] = {**spec["resources"], "requests": {**spec["resources"]["requests"], "storage": _storage(old["spec"])}}
        spec.pop("volumeAttributesClassName", None)
        before.pop("volumeAttributesClassName", None)
    if not same(spec, before):
        found.append(forbidden("spec", _FIXED))
    now, was = _storage(new["spec"]), _storage(old["spec"])
    held = ((old.get("status") or {}).get("capacity") or {}).get("storage", "0")
    if now is not None and was is not None:
        size = quantity.parse(now).value
        if size < quantity.parse(was).value and size <= quantity.parse(held).value:
            found.append(forbidden("spec.resources.requests.storage", "field can not be less than status.capacity"))
    return found + immutable(new["spec"].get("volumeMode"), old["spec"].get("volumeMode"), "volumeMode")


def _storage(spec: Json) -> Json:
    return ((spec.get("resources") or {}).get("requests") or {}).get("storage")


def volume(obj: Json) -> list[FieldError]:
    spec = obj["spec"]
    found = [] if spec.get("accessModes") else [required("spec.accessModes")]
    found += [not_supported("spec.accessModes", mode, _MODES) for mode in spec.get("accessModes") or () if mode not in _MODES]
    capacity = spec.get("capacity")
    if not capacity:
        found.append(required("spec.capacity"))
    if set(capacity or ()) != {"storage"}:
        found.append(not_supported("spec.capacity", capacity, ("storage",)))
    if not any(name not in _NOT_SOURCES for name in spec):
        found.append(required("spec", "must specify a volume type"))
    return found


def storage_class(obj: Json) -> list[FieldError]:
    provisioner = obj.get("provisioner", "")
    found = texts("provisioner", provisioner, names.qualified_name(provisioner.lower())) if provisioner else [required("provisioner")]
    if obj.get("reclaimPolicy") not in (None, "Delete", "Retain"):
        found.append(not_supported("reclaimPolicy", obj["reclaimPolicy"], ("Delete", "Retain")))
    if obj.get("volumeBindingMode") not in ("Immediate", "WaitForFirstConsumer"):
        found.append(not_supported("volumeBindingMode", obj.get("volumeBindingMode", ""), ("Immediate", "WaitForFirstConsumer")))
    return found


def storage_class_update(new: Json, old: Json) -> list[FieldError]:
    found = []
    if not same(new.get("parameters"), old.get("parameters")):
        found.append(forbidden("parameters", "updates to parameters are forbidden."))
    for name in ("provisioner", "reclaimPolicy", "volumeBindingMode"):
        found += immutable(new.get(name), old.get(name), name)
    return found

"""The rules of ObjectMeta that hold for every kind: what a request may set, what is immutable, what names look like.

The write path calls these; kinds add their own name check. Mirrors apimachinery's `api/validation/objectmeta.go` and the
registry's `BeforeCreate` and `BeforeUpdate`. Trees in, trees out: nothing is changed in place.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from ..objects import fielderrors, gojson, gotext
from ..objects.fielderrors import FieldError
from ..objects.tree import ABSENT, same
from . import names
from .statuses import bad_request

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from ..objects.tree import Json

ORPHAN = "orphan"
FOREGROUND = "foregroundDeletion"
_ANNOTATIONS_LIMIT = 256 * 1024
_WIPED_ON_CREATE = ("creationTimestamp", "uid", "deletionTimestamp", "deletionGracePeriodSeconds", "selfLink")
_IMMUTABLE = ("name", "namespace", "uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds")
_IMMUTABLE_TEXTS = frozenset({"name", "namespace", "uid"})
_OF_NO_ACCOUNT = frozenset({"managedFields", "generation", "resourceVersion"})
_KUBERNETES_FINALIZERS = frozenset({ORPHAN, FOREGROUND, "kubernetes"})
_DUPLICATES = (
    ".metadata.ownerReferences contains duplicate entries{when}; API server dedups owner references in 1.20+, and may reject "
    "such requests as early as 1.24; please fix your {what}; duplicate UID(s) observed: {uids}"
)


def of(obj: Json) -> Json:
    """The metadata of an object, empty when it has none."""
    meta = obj.get("metadata")
    return meta if isinstance(meta, dict) else {}


def name_of(obj: Json) -> str:
    """metadata.name, or empty text."""
    name = of(obj).get("name")
    return name if isinstance(name, str) else ""


def with_metadata(obj: Json, **members: Json) -> Json:
    """The object with these members of metadata; None removes one."""
    meta = {**of(obj), **members}
    for name, value in members.items():
        if value is None:
            del meta[name]
    return {**obj, "metadata": meta}


def wiped(obj: Json) -> Json:
    """The object without what a create may not say."""
    meta = of(obj)
    if not any(name in meta for name in _WIPED_ON_CREATE):
        return obj
    return {**obj, "metadata": {name: value for name, value in meta.items() if name not in _WIPED_ON_CREATE}}


def in_namespace(obj: Json, namespace: str) -> Json:
    """The object in the namespace of the request; a different one in the body is refused, one on a cluster-scoped kind dropped."""
    given = of(obj).get("namespace", "")
    if given == namespace:
        return obj
    if not given:
        return with_metadata(obj, namespace=namespace)
    if not namespace:
        return with_metadata(obj, namespace=None)
    raise bad_request("the namespace of the provided object does not match the namespace sent on the request")


def check_name(obj: Json, name: str) -> None:
    """The name in the body must be the one in the path."""
    given = name_of(obj)
    if not given:
        raise bad_request(f"the name of the object ({name} based on URL) was undeterminable: name must be provided")
    if given != name:
        raise bad_request(f"the name of the object ({given}) does not match the name on the URL ({name})")


def without_duplicate_owners(obj: Json, warn: Callable[[str], None], *, late: bool) -> Json:
    """The object with equal owner references merged, and a warning that names them."""
    owners = of(obj).get("ownerReferences")
    if not owners or len(owners) < 2:
        return obj
    kept: list[Json] = []
    doubled = []
    for owner in owners:
        if any(same(owner, other) for other in kept):
            doubled.append(str(owner.get("uid", "")))
        else:
            kept.append(owner)
    if not doubled:
        return obj
    when = " after mutating admission happens" if late else ""
    warn(_DUPLICATES.format(when=when, what="requests", uids=", ".join(doubled)))
    return with_metadata(obj, ownerReferences=kept)


def validate(meta: Json, *, namespaced: bool, check: Callable[[str], Iterable[str]]) -> list[FieldError]:
    """What is wrong with the metadata of any object."""
    errors = []
    prefix = meta.get("generateName")
    if prefix:
        masked = prefix if check is names.path_segment else names.masked(prefix)
        errors += [fielderrors.invalid("metadata.generateName", prefix, _of_names(text)) for text in check(masked)]
    name = meta.get("name")
    if not name:
        errors.append(fielderrors.required("metadata.name", "name or generateName is required"))
    else:
        errors += [fielderrors.invalid("metadata.name", name, _of_names(text)) for text in check(name)]
    namespace = meta.get("namespace")
    if namespaced:
        if not namespace:
            errors.append(fielderrors.required("metadata.namespace"))
        else:
            errors += [fielderrors.invalid("metadata.namespace", namespace, _of_names(text)) for text in names.dns_label(namespace)]
    elif namespace:
        errors.append(fielderrors.forbidden("metadata.namespace", "not allowed on this type"))
    if meta.get("generation", 0) < 0:
        errors.append(fielderrors.invalid("metadata.generation", meta["generation"], "must be greater than or equal to 0"))
    errors += _labels(meta) + _annotations(meta) + _owners(meta) + _finalizers(meta) + _managed(meta)
    return errors


def _of_names(text: str) -> str:
    """The server counts the bytes of labels and the characters of names, or says so."""
    return f"{text.removesuffix('bytes')}characters" if text.endswith(" bytes") else text


def validate_update(new: Json, old: Json) -> list[FieldError]:
    """What is wrong with a change of metadata."""
    errors = []
    if "deletionTimestamp" in old:
        extra = sorted(set(new.get("finalizers") or ()) - set(old.get("finalizers") or ()))
        if extra:
            shown = ", ".join(map(gotext.quoted, extra))
            text = f"no new finalizers can be added if the object is being deleted, found new finalizers []string{{{shown}}}"
            errors.append(fielderrors.forbidden("metadata.finalizers", text))
    if not new.get("resourceVersion"):
        errors.append(fielderrors.invalid("metadata.resourceVersion", "", "must be specified for an update"))
    for name in _IMMUTABLE:
        value = new.get(name)
        if not same(value, old.get(name)):
            held: Json = "" if value is None and name in _IMMUTABLE_TEXTS else value
            if name == "uid":  # a text of a type of its own: printed as JSON, not as Go quotes texts
                held = fielderrors.Printed(gojson.encode(held).decode())
            errors.append(fielderrors.invalid(f"metadata.{name}", held, "field is immutable"))
    errors += _labels(new) + _annotations(new) + _owners(new) + _managed(new)
    return errors


def unchanged(new: Json, old: Json) -> bool:
    """Whether nothing but managedFields, generation and resourceVersion differs, so that a check made before still holds."""
    if new is old:
        return True
    for name, value in new.items():
        if old.get(name) is not value and name not in _OF_NO_ACCOUNT and not same(value, old.get(name)):
            return False
    return bool(old.keys() <= new.keys() or old.keys() - new.keys() <= _OF_NO_ACCOUNT)


def finalizer_warnings(new: Json, old: Json | None) -> list[str]:
    """What custom kinds warn of when finalizers are added."""
    added = set(of(new).get("finalizers") or ()) - set((of(old).get("finalizers") or ()) if old is not None else ())
    texts = []
    for name in sorted(added):
        subject = f"metadata.finalizers: {gotext.quoted(name)}"
        texts += [f"{subject}: {text}" for text in names.qualified_name(name)]
        if "/" not in name and name not in _KUBERNETES_FINALIZERS:
            how = "a domain-qualified finalizer name including a path (/)" if "." in name else "a domain-qualified finalizer name"
            texts.append(f"{subject}: prefer {how} to avoid accidental conflicts with other finalizer writers")
    return texts


def _labels(meta: Json) -> list[FieldError]:
    errors = []
    for key, value in (meta.get("labels") or {}).items():
        errors += [fielderrors.invalid("metadata.labels", key, text) for text in names.qualified_name(key)]
        errors += [fielderrors.invalid("metadata.labels", value, text) for text in names.label_value(value)]
    return errors


def _annotations(meta: Json) -> list[FieldError]:
    annotations = meta.get("annotations") or {}
    errors = [
        fielderrors.invalid("metadata.annotations", key, text)
        for key in annotations
        for text in names.qualified_name(key.lower())
    ]
    if sum(len(key.encode()) + len(value.encode()) for key, value in annotations.items()) > _ANNOTATIONS_LIMIT:
        errors.append(fielderrors.too_long("metadata.annotations", _ANNOTATIONS_LIMIT))
    return errors


def _owners(meta: Json) -> list[FieldError]:
    at = "metadata.ownerReferences"
    errors = []
    controller = ""
    owners = meta.get("ownerReferences") or []
    for owner in owners:
        if not owner.get("apiVersion") or owner["apiVersion"].endswith("/"):
            errors.append(fielderrors.invalid(f"{at}.apiVersion", owner.get("apiVersion", ""), "version must not be empty"))
        errors += [fielderrors.invalid(f"{at}.{name}", "", "must not be empty") for name in ("kind", "name", "uid") if not owner.get(name)]
        if (owner.get("apiVersion"), owner.get("kind")) == ("v1", "Event"):
            errors.append(_shown(at, _owner_text(owner), "/v1, Kind=Event is disallowed from being an owner"))
        if owner.get("controller") is True:
            named = f"{owner.get('kind', '')}/{owner.get('name', '')}"
            if controller:
                text = f'Only one reference can have Controller set to true. Found "true" in references for {controller} and {named}'
                errors.append(_shown(at, f"[{','.join(map(_owner_text, owners))}]", text))
            else:
                controller = named
    return errors


def _owner_text(owner: Json) -> str:
    """An owner reference with its members in the order of the server's struct."""
    members = {name: owner.get(name, "") for name in ("apiVersion", "kind", "name", "uid")}
    members |= {name: owner[name] for name in ("controller", "blockOwnerDeletion") if owner.get(name) is not None}
    return msgspec.json.encode(members).decode()


def _shown(at: str, value: str, detail: str) -> FieldError:
    """An invalid value that is already text."""
    return FieldError("FieldValueInvalid", at, ABSENT, f"{value}: {detail}")


def _finalizers(meta: Json) -> list[FieldError]:
    finalizers = meta.get("finalizers") or []
    errors = [fielderrors.invalid("metadata.finalizers", name, text) for name in finalizers for text in names.qualified_name(name)]
    if ORPHAN in finalizers and FOREGROUND in finalizers:
        text = f"finalizer {ORPHAN} and {FOREGROUND} cannot be both set"
        errors.append(fielderrors.invalid("metadata.finalizers", finalizers, text))
    return errors


def _managed(meta: Json) -> list[FieldError]:
    errors = []
    for index, entry in enumerate(meta.get("managedFields") or ()):
        at = f"metadata.managedFields[{index}]"
        if entry.get("operation") not in ("Apply", "Update"):
            errors.append(fielderrors.invalid(f"{at}.operation", entry.get("operation", ""), "must be `Apply` or `Update`"))
        if entry.get("fieldsType") not in (None, "", "FieldsV1"):
            errors.append(fielderrors.invalid(f"{at}.fieldsType", entry["fieldsType"], "must be `FieldsV1`"))
        errors += field_manager(entry.get("manager", ""), f"{at}.manager")
        if len(entry.get("subresource", "")) > 256:
            errors.append(fielderrors.too_long(f"{at}.subresource", 256))
    return errors


def field_manager(name: str, at: str) -> list[FieldError]:
    """What is wrong with the name of a field manager."""
    errors = [fielderrors.too_long(at, 128)] if len(name.encode("utf-8", "replace")) > 128 else []
    position = 0
    for char in name:
        if not (char.isprintable() and (char == " " or not char.isspace())):
            errors.append(fielderrors.invalid(at, name, f"invalid character U+{ord(char):04X} (at position {position})"))
        position += len(char.encode("utf-8", "replace"))
    return errors

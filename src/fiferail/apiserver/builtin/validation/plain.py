"""Checks of ConfigMap, Secret, Namespace, Lease and Event."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING

from ....objects import gojson
from ....objects.fielderrors import FieldError, forbidden, invalid, required, too_long
from ....objects.tree import same
from ... import names
from .. import conversions
from .shapes import config_key, immutable, texts

if TYPE_CHECKING:
    from ....objects.tree import Json

_SIZE = 1024 * 1024
_LOCKED = "field is immutable when `immutable` is set"
_SERVICE_ACCOUNT = "kubernetes.io/service-account.name"


def _size(encoded: Json) -> int:
    return sum(len(base64.b64decode(value or "")) for value in (encoded or {}).values())


def _text_size(data: Json) -> int:
    return sum(len(value.encode("utf-8", "surrogatepass")) for value in (data or {}).values())


def config_map(obj: Json) -> list[FieldError]:
    data, binary = obj.get("data") or {}, obj.get("binaryData") or {}
    found = []
    for key in sorted(data):
        found += texts(f"data[{key}]", key, config_key(key))
        if key in binary:
            found.append(invalid(f"data[{key}]", key, "duplicate of key present in binaryData"))
    for key in sorted(binary):
        found += texts(f"binaryData[{key}]", key, config_key(key))
    if _text_size(data) + _size(binary) > _SIZE:
        found.append(too_long("[]", _SIZE))
    return found


def _locked(new: Json, old: Json, members: tuple[str, ...]) -> list[FieldError]:
    if not old.get("immutable"):
        return []
    found = [] if new.get("immutable") else [forbidden("immutable", _LOCKED)]
    return found + [forbidden(name, _LOCKED) for name in members if not same(new.get(name), old.get(name))]


def config_map_update(new: Json, old: Json) -> list[FieldError]:
    return _locked(new, old, ("data", "binaryData")) + config_map(new)


def secret(obj: Json) -> list[FieldError]:
    data = obj.get("data") or {}
    found = [error for key in sorted(data) for error in texts(f"data[{key}]", key, config_key(key))]
    if _size(data) > _SIZE:
        found.append(too_long("data", _SIZE))
    return found + _secret_of_type(obj.get("type", ""), data, obj)


def _secret_of_type(kind: str, data: Json, obj: Json) -> list[FieldError]:
    if kind == "kubernetes.io/service-account-token":
        given = (obj["metadata"].get("annotations") or {}).get(_SERVICE_ACCOUNT)
        return [] if given else [required(f"metadata.annotations[{_SERVICE_ACCOUNT}]")]
    if kind == "kubernetes.io/dockercfg":
        return _json_content(data, ".dockercfg")
    if kind == "kubernetes.io/dockerconfigjson":
        return _json_content(data, ".dockerconfigjson")
    if kind == "kubernetes.io/basic-auth" and "username" not in data and "password" not in data:
        return [required("data[username]"), required("data[password]")]
    if kind == "kubernetes.io/ssh-auth" and not data.get("ssh-privatekey"):
        return [required("data[ssh-privatekey]")]
    if kind == "kubernetes.io/tls":
        return [required(f"data[{key}]") for key in ("tls.crt", "tls.key") if key not in data]
    return []


def _json_content(data: Json, key: str) -> list[FieldError]:
    if key not in data:
        return [required(f"data[{key}]")]
    hidden = "<secret contents redacted>"
    try:
        decoded = gojson.decode(base64.b64decode(data[key]))
    except gojson.DecodeError as error:
        return [invalid(f"data[{key}]", hidden, str(error))]
    if decoded is None or isinstance(decoded, dict):
        return []
    kinds = {bool: "bool", str: "string", int: "number", float: "number", list: "array"}
    text = f"json: cannot unmarshal {kinds[type(decoded)]} into Go value of type map[string]interface {{}}"
    return [invalid(f"data[{key}]", hidden, text)]


def secret_update(new: Json, old: Json) -> list[FieldError]:
    return immutable(new.get("type", ""), old.get("type", ""), "type") + _locked(new, old, ("data",)) + secret(new)


def namespace(obj: Json) -> list[FieldError]:
    found = []
    for finalizer in obj["spec"].get("finalizers") or ():
        found += texts("spec.finalizers", finalizer, names.qualified_name(finalizer))
        if "/" not in finalizer and finalizer != "kubernetes":
            detail = "name is neither a standard finalizer name nor is it fully qualified"
            found.append(invalid("spec.finalizers", finalizer, detail))
    return found


def lease(obj: Json) -> list[FieldError]:
    spec = obj["spec"]
    found = []
    duration, transitions = spec.get("leaseDurationSeconds"), spec.get("leaseTransitions")
    if duration is not None and duration <= 0:
        found.append(invalid("spec.leaseDurationSeconds", duration, "must be greater than 0"))
    if transitions is not None and transitions < 0:
        found.append(invalid("spec.leaseTransitions", transitions, "must be greater than or equal to 0"))
    return found


def lease_update(new: Json, old: Json) -> list[FieldError]:
    return lease(new)


def event(obj: Json) -> list[FieldError]:
    return _legacy_event(obj, "reportingComponent")


def event_update(new: Json, old: Json) -> list[FieldError]:
    return event(new)


def _legacy_event(obj: Json, controller: str) -> list[FieldError]:
    own, about = obj["metadata"].get("namespace", ""), obj["involvedObject"].get("namespace", "")
    mismatch = invalid("involvedObject.namespace", about, "does not match event.namespace")
    if obj.get("eventTime") is None:
        wrong = own not in ("", "default") if not about else own != about
        return [mismatch] if wrong else []
    found = [mismatch] if not about and own not in ("default", "kube-system") else []
    reporter = obj.get("reportingComponent") or ""
    found += [] if reporter else [required(controller)]
    found += texts(controller, reporter, names.qualified_name(reporter))
    for name, limit, must in (("reportingInstance", 128, True), ("action", 128, True), ("reason", 128, True), ("message", 1024, False)):
        text = obj.get(name) or ""
        if must and not text:
            found.append(required(name))
        if len(text.encode("utf-8", "surrogatepass")) > limit:
            found.append(invalid(name, "", f"can have at most {limit} characters"))
    return found


def events_event(obj: Json) -> list[FieldError]:
    core = conversions.event_to_core(obj)
    found = _legacy_event(core, "reportingController") + _series(core)
    if core.get("eventTime") is None:
        found.append(required("eventTime"))
    if core.get("type") not in ("Normal", "Warning"):
        found.append(invalid("type", "", f"has invalid value: {core.get('type') or ''}"))
    for name in ("firstTimestamp", "lastTimestamp", "count", "source"):
        if core.get(name):
            found.append(invalid(name, "", "needs to be unset"))
    return found


def _series(core: Json) -> list[FieldError]:
    series = core.get("series")
    if not series:
        return []
    found = [] if (series.get("count") or 0) >= 2 else [invalid("series.count", "", "should be at least 2")]
    return found + ([] if series.get("lastObservedTime") else [required("series.lastObservedTime")])


_EVENT_FIXED = ("involvedObject", "reason", "message", "source", "firstTimestamp", "lastTimestamp", "count", "reason", "type")


def events_event_update(new: Json, old: Json) -> list[FieldError]:
    core, before = conversions.event_to_core(new), conversions.event_to_core(old)
    found = _legacy_event(core, "reportingController")
    if not same(core.get("series"), before.get("series")):
        found += _series(core)
    for name in (*_EVENT_FIXED, "eventTime", "action", "related", "reportingController", "reportingInstance"):
        member = "reportingComponent" if name == "reportingController" else name
        found += immutable(core.get(member), before.get(member), name)
    return found

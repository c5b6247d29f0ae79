"""What the query of a request asks for, checked and worded as the server does.

One record for all verbs: each reads the members that mean something to it. Mirrors the decoding and validation of the
*Options kinds of meta/v1. Selectors stay text here; `selectors.py` reads them.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

import msgspec

from ..objects import fielderrors, gotext, strconv
from ..wire import APPLY_PATCH
from . import metadata, selectors
from .statuses import Refusal, bad_request, invalid

if TYPE_CHECKING:
    from ..objects.fielderrors import FieldError
    from ..objects.tree import Json
    from ..wire import Request

META = "meta.k8s.io"
_POLICIES = ("Foreground", "Background", "Orphan")


class Options(msgspec.Struct, frozen=True):
    """The query, decoded. Absent numbers are 0, absent texts empty, absent switches None where absence matters."""

    field_manager: str = ""
    dry_run: bool = False
    field_validation: str = "Warn"
    force: bool | None = None
    label_selector: str = ""
    field_selector: str = ""
    resource_version: str = ""
    resource_version_match: str = ""
    limit: int = 0
    continue_token: str = ""
    watch: bool = False
    allow_bookmarks: bool = False
    send_initial_events: bool | None = None
    timeout_seconds: int | None = None


#: Most requests have no query.
NONE = Options()


class DeleteOptions(msgspec.Struct, frozen=True):
    """How to delete."""

    grace_period_seconds: int | None = None
    propagation_policy: str | None = None
    orphan_dependents: bool | None = None
    uid: str | None = None
    resource_version: str | None = None
    dry_run: bool = False


def writing(request: Request, kind: str) -> Options:
    """CreateOptions, UpdateOptions or PatchOptions."""
    usual = sum(len(value) for _, value in request.query) <= 1024 and len(request.query) <= 10  # others are not remembered
    return (_remembered if usual else _writing)(request.query, kind, request.content_type.startswith(APPLY_PATCH))


def _writing(pairs: tuple[tuple[str, str], ...], kind: str, apply: bool) -> Options:
    query, dry_run = _first(pairs), _all(pairs, "dryRun")
    manager, validation = query.get("fieldManager", ""), query.get("fieldValidation", "")
    force = _switch(query.get("force"))
    errors: list[FieldError] = []
    if kind == "PatchOptions":
        if apply:
            if not manager:
                errors.append(fielderrors.required("fieldManager", "is required for apply patch"))
        elif force is not None:
            errors.append(fielderrors.forbidden("force", "may not be specified for non-apply patch"))
    errors += metadata.field_manager(manager, "fieldManager") + _dry_run_errors(dry_run)
    if validation not in ("", "Ignore", "Warn", "Strict"):
        errors.append(fielderrors.not_supported("fieldValidation", validation, ("", "Ignore", "Strict", "Warn")))
    if errors:
        raise _refused(kind, errors)
    return Options(field_manager=manager, dry_run=bool(dry_run), field_validation=validation or "Warn", force=force)


_remembered = lru_cache(maxsize=1024)(_writing)


def reading(request: Request) -> Options:
    """ListOptions, also of a watch. Sets what the server sets by default."""
    if not request.query:
        return NONE
    query = _first(request.query)
    watch = bool(_switch(query.get("watch")))
    send = _switch(query.get("sendInitialEvents"))
    return Options(
        label_selector=query.get("labelSelector", ""),
        field_selector=query.get("fieldSelector", ""),
        resource_version=query.get("resourceVersion", ""),
        resource_version_match=query.get("resourceVersionMatch", ""),
        limit=_integer(query.get("limit")) or 0,
        continue_token=query.get("continue", ""),
        watch=watch,
        allow_bookmarks=bool(_switch(query.get("allowWatchBookmarks"))),
        send_initial_events=send,
        timeout_seconds=_integer(query.get("timeoutSeconds")),
    )


def checked_list(options: Options, *, watch: bool) -> Options:
    """The options of a list or watch with the server's defaults, or a refusal."""
    if options is NONE and not watch:
        return options
    _check_syntax(options)
    legacy = options.resource_version in ("", "0")
    if watch and options.send_initial_events is None and not options.resource_version_match and options.allow_bookmarks and legacy:
        options = msgspec.structs.replace(options, send_initial_events=True, resource_version_match="NotOlderThan")
    errors = _watch_errors(options) if watch else _list_errors(options)
    if errors:
        raise _refused("ListOptions", errors)
    return options


def _check_syntax(options: Options) -> None:
    """Selectors are read while the options are decoded, so a bad one is told before any combination of options is judged."""
    try:
        if options.label_selector:
            selectors.labels(options.label_selector)
        if options.field_selector:
            selectors.fields(options.field_selector)
    except selectors.SelectorError as error:
        raise bad_request(str(error)) from None


def revision(text: str) -> int:
    """A resourceVersion as a number. Raises ValueError with Go's text."""
    if not text:
        return 0
    return strconv.parse_uint(text)


def deleting(request: Request, body: Json) -> DeleteOptions:
    """DeleteOptions, from the body when there is one, else from the query."""
    if body is not None:
        given = _from_body(body)
        dry_run = given.pop("dry_run_values")
    else:
        query = _first(request.query)
        dry_run = _all(request.query, "dryRun")
        given = {
            "grace_period_seconds": _integer(query.get("gracePeriodSeconds")),
            "propagation_policy": query.get("propagationPolicy"),
            "orphan_dependents": _switch(query.get("orphanDependents")),
        }
    options = DeleteOptions(**given, dry_run=bool(dry_run))
    policy = options.propagation_policy
    errors: list[FieldError] = []
    if options.orphan_dependents is not None and policy is not None:
        text = "orphanDependents and deletionPropagation cannot be both set"
        errors.append(fielderrors.invalid("propagationPolicy", policy, text))
    if policy is not None and policy not in _POLICIES:
        errors.append(fielderrors.not_supported("propagationPolicy", policy, (*_POLICIES, "nil")))
    errors += _dry_run_errors(dry_run)
    if errors:
        raise _refused("DeleteOptions", errors)
    return options


_BODY_TYPES = {
    "gracePeriodSeconds": (int, "int64"),
    "propagationPolicy": (str, "v1.DeletionPropagation"),
    "orphanDependents": (bool, "bool"),
    "preconditions": (dict, "v1.Preconditions"),
    "dryRun": (list, "[]string"),
}
_JSON_NAMES = {str: "string", int: "number", float: "number", bool: "bool", list: "array", dict: "object"}


def _from_body(body: Json) -> dict[str, Json]:
    for name, (expected, shown) in _BODY_TYPES.items():
        value = body.get(name)
        if value is not None and type(value) is not expected:
            found = _JSON_NAMES[type(value)] if type(value) is not float else f"number {gotext.number(value)}"
            raise bad_request(f"json: cannot unmarshal {found} into Go struct field DeleteOptions.{name} of type {shown}")
    preconditions = body.get("preconditions") or {}
    for name in ("uid", "resourceVersion"):
        value = preconditions.get(name)
        if value is not None and not isinstance(value, str):
            shown = "types.UID" if name == "uid" else "string"
            found = _JSON_NAMES[type(value)]
            raise bad_request(f"json: cannot unmarshal {found} into Go struct field Preconditions.preconditions.{name} of type {shown}")
    return {
        "grace_period_seconds": body.get("gracePeriodSeconds"),
        "propagation_policy": body.get("propagationPolicy"),
        "orphan_dependents": body.get("orphanDependents"),
        "uid": preconditions.get("uid"),
        "resource_version": preconditions.get("resourceVersion"),
        "dry_run_values": [str(value) for value in body.get("dryRun") or ()],
    }


def _list_errors(options: Options) -> list[FieldError]:
    errors = []
    match = options.resource_version_match
    at = "resourceVersionMatch"
    if match:
        if not options.resource_version:
            errors.append(fielderrors.forbidden(at, "resourceVersionMatch is forbidden unless resourceVersion is provided"))
        if options.continue_token:
            errors.append(fielderrors.forbidden(at, "resourceVersionMatch is forbidden when continue is provided"))
        if match not in ("Exact", "NotOlderThan"):
            errors.append(fielderrors.not_supported(at, match, ("Exact", "NotOlderThan", "")))
        if match == "Exact" and options.resource_version == "0":
            errors.append(fielderrors.forbidden(at, 'resourceVersionMatch "exact" is forbidden for resourceVersion "0"'))
    if options.send_initial_events is not None:
        errors.append(fielderrors.forbidden("sendInitialEvents", "sendInitialEvents is forbidden for list"))
    return errors


def _watch_errors(options: Options) -> list[FieldError]:
    errors = []
    match, at = options.resource_version_match, "resourceVersionMatch"
    if options.send_initial_events is not None and match != "NotOlderThan":
        errors.append(fielderrors.forbidden(at, "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan"))
    if match:
        if options.send_initial_events is None:
            text = "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided"
            errors.append(fielderrors.forbidden(at, text))
        if match != "NotOlderThan":
            errors.append(fielderrors.not_supported(at, match, ("NotOlderThan",)))
        if options.continue_token:
            errors.append(fielderrors.forbidden(at, "resourceVersionMatch is forbidden when continue is provided"))
    return errors


def _dry_run_errors(values: list[str]) -> list[FieldError]:
    return [fielderrors.not_supported("dryRun", values, ("All",))] if set(values) - {"All"} else []


def _refused(kind: str, errors: list[FieldError]) -> Refusal:
    return invalid(META, kind, "", errors)


def _first(pairs: tuple[tuple[str, str], ...]) -> dict[str, str]:
    found: dict[str, str] = {}
    for name, value in pairs:
        found.setdefault(name, value)
    return found


def _all(pairs: tuple[tuple[str, str], ...], wanted: str) -> list[str]:
    return [value for name, value in pairs if name == wanted]


def _switch(text: str | None) -> bool | None:
    return None if text is None else text.lower() not in ("false", "0")


def _integer(text: str | None) -> int | None:
    if text is None:
        return None
    try:
        return strconv.parse_int(text)
    except ValueError as error:
        raise bad_request(str(error)) from None

"""Reviews: who am I, may I, may somebody else, is this token good. Asked by POST, answered at once, stored nowhere.

Called by the machine for the review resources of authentication.k8s.io and authorization.k8s.io. The embedded server lets every
authenticated user do everything, as the real one lets the group system:masters, and says exactly that. About other subjects it
says what the real server says without any RBAC objects; it evaluates none, and notes so in `evaluationError`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from ..objects import fielderrors, gojson
from ..wire import Answer
from . import statuses
from .verbs.bodies import MEDIA_TYPES

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from ..objects.fielderrors import FieldError
    from ..objects.tree import Json
    from ..wire import Request
    from .kinds import User
    from .machine import Machine

MASTERS = "system:masters"
_AUTHORIZATION = "authorization.k8s.io"
_ONE_OF = "exactly one of nonResourceAttributes or resourceAttributes must be specified"
_ATTRIBUTES = ("resourceAttributes", "nonResourceAttributes")


class Question(msgspec.Struct, frozen=True):
    """One review: who asks, about what, and which tokens are known."""

    user: User
    body: Json
    namespace: str
    now: str
    tokens: Mapping[str, User]

    @property
    def spec(self) -> Json:
        """What is asked."""
        given = self.body.get("spec")
        return given if isinstance(given, dict) else {}


def answer(machine: Machine, request: Request, user: User, tokens: Mapping[str, User]) -> Answer | None:
    """The answer to a review; None when the path is no review's."""
    parts = request.path.strip("/").split("/")
    if len(parts) not in (4, 6) or parts[0] != "apis" or f"{parts[1]}/{parts[2]}/{parts[-1]}" not in _REVIEWS:
        return None
    kind, namespaced, respond = _REVIEWS[f"{parts[1]}/{parts[2]}/{parts[-1]}"]
    if namespaced != (len(parts) == 6):
        return None
    try:
        if request.method != "POST":
            raise statuses.method_not_allowed()
        if request.content_type.partition(";")[0].strip().lower() not in ("", "application/json", "application/yaml"):
            raise statuses.unsupported_media_type(MEDIA_TYPES)
        body = _decoded(request.body, f"{parts[1]}/{parts[2]}", kind)
        question = Question(user, body, parts[4] if namespaced else "", machine.now(), tokens)
        return Answer(201, gojson.encode({**body, **respond(question)}), statuses.JSON_HEADERS)
    except statuses.Refusal as refusal:
        return refusal.answer()


def _decoded(data: bytes, api_version: str, kind: str) -> Json:
    try:
        body = gojson.decode(data) if data.lstrip()[:1] == b"{" else _from_yaml(data)
    except ValueError as error:
        raise statuses.bad_request(f"{kind} in version {api_version.partition('/')[2]!r} cannot be handled as a {kind}: {error}") from None
    if not isinstance(body, dict):
        raise statuses.bad_request(f"the body is no {kind}: expected an object")
    if body.get("apiVersion", api_version) != api_version or body.get("kind", kind) != kind:
        message = f"the object provided is unrecognized (must be of type {kind}): expected {api_version}, Kind={kind}"
        raise statuses.bad_request(message)
    meta = body.get("metadata") if isinstance(body.get("metadata"), dict) else {}
    return {"kind": kind, "apiVersion": api_version, "metadata": meta, **{name: body[name] for name in ("spec",) if name in body}}


def _from_yaml(data: bytes) -> Json:
    import yaml

    try:
        return yaml.safe_load(data)
    except yaml.YAMLError as error:
        raise ValueError(str(error)) from None


def _user_info(user: User) -> Json:
    info: Json = {"username": user.name, "uid": user.uid, "groups": list(user.groups)}
    if user.extra:
        info["extra"] = user.extra
    return info


def _who_am_i(question: Question) -> Json:
    meta = {**question.body["metadata"], "creationTimestamp": question.now}
    return {"metadata": meta, "status": {"userInfo": _user_info(question.user)}}


def _token(question: Question) -> Json:
    token = question.spec.get("token")
    if not token:
        raise _invalid("authentication.k8s.io", [fielderrors.required("spec.token", "")])
    user = question.tokens.get(token) if question.tokens else question.user
    if user is None:
        return {"status": {"user": {}, "error": "invalid bearer token"}}
    return {"status": {"authenticated": True, "user": _user_info(user), "audiences": question.spec.get("audiences") or ["fairlead"]}}


def _may_i(question: Question) -> Json:
    _check_attributes(question.spec)
    return {"status": {"allowed": True}}


def _may_they(question: Question) -> Json:
    spec = question.spec
    errors = _attribute_errors(spec)
    if not spec.get("user") and not spec.get("groups"):
        errors.append(fielderrors.invalid("spec.user", "", "at least one of user or group must be specified"))
    if question.namespace:
        named = (spec.get("resourceAttributes") or {}).get("namespace", "")
        if named != question.namespace:
            errors.append(fielderrors.invalid("spec.resourceAttributes.namespace", named, "must match metadata.namespace"))
    if errors:
        raise _invalid(_AUTHORIZATION, errors)
    if MASTERS in (spec.get("groups") or ()):
        return {"status": {"allowed": True}}
    return {"status": {"allowed": False, "evaluationError": "the embedded API server evaluates no RBAC rules"}}


def _my_rules(question: Question) -> Json:
    if not question.spec.get("namespace"):
        raise statuses.bad_request("no namespace on request")
    everything = {"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}
    status = {"resourceRules": [everything], "nonResourceRules": [{"verbs": ["*"], "nonResourceURLs": ["*"]}], "incomplete": False}
    return {"spec": {}, "status": status}


def _attribute_errors(spec: Json) -> list[FieldError]:
    given = [name for name in _ATTRIBUTES if spec.get(name) is not None]
    if len(given) == 2:
        return [fielderrors.invalid("spec.nonResourceAttributes", None, "cannot be specified in combination with resourceAttributes")]
    return [] if given else [fielderrors.invalid("spec.resourceAttributes", None, _ONE_OF)]


def _check_attributes(spec: Json) -> None:
    if errors := _attribute_errors(spec):
        raise _invalid(_AUTHORIZATION, errors)


def _invalid(group: str, errors: list[FieldError]) -> statuses.Refusal:
    return statuses.invalid(group, "", "", errors)


_REVIEWS: dict[str, tuple[str, bool, Callable[[Question], Json]]] = {
    "authentication.k8s.io/v1/selfsubjectreviews": ("SelfSubjectReview", False, _who_am_i),
    "authentication.k8s.io/v1/tokenreviews": ("TokenReview", False, _token),
    "authorization.k8s.io/v1/selfsubjectaccessreviews": ("SelfSubjectAccessReview", False, _may_i),
    "authorization.k8s.io/v1/subjectaccessreviews": ("SubjectAccessReview", False, _may_they),
    "authorization.k8s.io/v1/localsubjectaccessreviews": ("LocalSubjectAccessReview", True, _may_they),
    "authorization.k8s.io/v1/selfsubjectrulesreviews": ("SelfSubjectRulesReview", False, _my_rules),
}

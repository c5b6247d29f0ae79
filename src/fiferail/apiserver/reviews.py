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
from . import goyaml, statuses
from .call import as_yaml, negotiate, partial
from .kinds import User
from .verbs.bodies import MEDIA_TYPES, summary

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from ..objects.fielderrors import FieldError
    from ..objects.tree import Json
    from ..wire import Request
    from .machine import Machine

MASTERS = "system:masters"
_AUTHORIZATION = "authorization.k8s.io"
_GROUPS = ("/authentication.k8s.io/v1", "/authorization.k8s.io/v1")
_ONE_OF = "exactly one of nonResourceAttributes or resourceAttributes must be specified"
_ATTRIBUTES = ("resourceAttributes", "nonResourceAttributes")


def install(machine: Machine) -> None:
    """Serves reviews on this machine, for callers that have no name; a shell that knows its users calls `answer` first."""
    machine.paths.update({f"/apis/{path}": _unnamed for path, (_, namespaced, _) in _REVIEWS.items() if not namespaced})


def _unnamed(machine: Machine, request: Request) -> Answer:
    answered = answer(machine, request, User(), {})
    if answered is None:
        raise statuses.page_not_found()
    return answered


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
    """The answer to a request for a review resource; None when the path names none."""
    parts = request.path.strip("/").split("/")
    if len(parts) < 4 or f"/{parts[1]}/{parts[2]}" not in _GROUPS:
        return None
    kind, namespaced, respond = _REVIEWS.get(f"{parts[1]}/{parts[2]}/{parts[-1]}", ("", False, _may_i))
    if not kind or len(parts) != (6 if namespaced else 4):
        return statuses.status(404, "NotFound", "the server could not find the requested resource", {}).answer()
    try:
        if request.method != "POST":
            raise statuses.method_not_allowed()
        media_type = request.content_type.partition(";")[0].strip().lower()
        statuses.refuse_impersonation(request.headers)
        output = negotiate(request.headers.get("accept", ""), custom=False, tables=False)
        if media_type not in ("", "application/json", "application/yaml"):
            raise statuses.unsupported_media_type(MEDIA_TYPES, media_type)
        body = _decoded(request.body, media_type, f"{parts[1]}/{parts[2]}", kind)
        question = Question(user, body, parts[4] if namespaced else "", machine.now(), tokens)
        answered = {**body, **respond(question)}
        if output.transform:
            answered = partial(answered, output.version)
        if output.media_type == "application/yaml":
            return Answer(201, as_yaml(answered), {"content-type": output.media_type})
        return Answer(201, gojson.encode(answered), statuses.JSON_HEADERS)
    except statuses.Refusal as refusal:
        return refusal.answer()


def _decoded(data: bytes, media_type: str, api_version: str, kind: str) -> Json:
    try:
        body = goyaml.read(data).tree if media_type == "application/yaml" else gojson.decode(data)
    except gojson.DecodeError as error:
        raise _unrecognized(kind, f"couldn't get version/kind; json parse error: {error.message}", data) from None
    except goyaml.YamlError as error:
        raise _unrecognized(kind, str(error), data) from None
    given = body if isinstance(body, dict) else {}
    if given.get("apiVersion", api_version) != api_version or given.get("kind", kind) != kind:
        raise _unrecognized(kind, f"expected {api_version}, Kind={kind}", data)
    meta = given.get("metadata") if isinstance(given.get("metadata"), dict) else {}
    return {"kind": kind, "apiVersion": api_version, "metadata": meta, **{name: given[name] for name in ("spec",) if name in given}}


def _unrecognized(kind: str, error: str, data: bytes) -> statuses.Refusal:
    return statuses.bad_request(f"the object provided is unrecognized (must be of type {kind}): {error} ({summary(data)})")


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
    return {"status": {"authenticated": True, "user": _user_info(user), "audiences": question.spec.get("audiences") or ["fiferail"]}}


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

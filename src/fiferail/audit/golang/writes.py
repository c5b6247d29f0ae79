"""Is this call a write to the API, and which one?

Called by `walk` for every call whose method has the name of a write. The receiver's type decides; where the type is unknown (it comes
from a
module outside the project), the shape of the call does, and only for shapes that nothing else has. An in-memory manager with an `Update`
method is a type of the project with its own method, so it is never taken for a client.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from fiferail.audit.golang import known, outside, rest
from fiferail.audit.golang.elsewhere import Elsewhere
from fiferail.audit.golang.kinds import Kinds
from fiferail.audit.golang.origins import Origins
from fiferail.audit.golang.patches import Patch, Patches
from fiferail.audit.golang.raw import CONTEXT, Raw
from fiferail.audit.golang.touched import sets_status
from fiferail.audit.golang.trees import parts, render

if TYPE_CHECKING:
    from fiferail.audit.golang.scopes import Scope
    from fiferail.audit.golang.types import Type
    from fiferail.audit.golang.values import Values

_CLIENT_NAME = re.compile(r"(?:^|\.)(?:\w*[cC]lient|c|cl|cli|kc|k8s|kube|\w*[wW]riter)(?:\(\))?$")
_VERSION_CALL = re.compile(r"V\d+(?:(?:alpha|beta)\d+)?$")
_GENERIC = {"Update": ("spec", "update"), "UpdateStatus": ("status", "update"), "Create": ("create", "create")}
_STATUS_PATH = re.compile(r"(?:^|[ \"'`])/status(?:/|\b)|\"status\"\s*:")
_OTHER_PATH = re.compile(r"(?:^|[ \"'`])/(?:spec|metadata)(?:/|\b)(?!/resourceVersion|/uid|/generation)|\"spec\"\s*:")
_WHOLE = ("client.Merge", "client.StrategicMerge")


class Writes:
    """Decides what calls write. One per project."""

    def __init__(self, values: Values) -> None:
        self.values = values
        self.types = values.types
        self.kinds = Kinds(values)
        self.patches = Patches(values)
        self.origins = Origins(values, self.kinds.is_object)
        self.elsewhere = Elsewhere(self)

    def classify(self, call: list[Any], scope: Scope) -> Raw | None:
        function = call[1]
        if function[0] == "i":
            return self._method_value(call, scope) or self._plain_function(call, scope)
        if function[0] != ".":
            return None
        name, arguments = function[2], call[2]
        if self.values.imported(function[1], scope):
            return self._package_function(call, scope)
        if name in rest.SENDS:
            return self._request(call, scope)
        if name not in known.WRITES:
            return self.elsewhere.classify(call, scope)
        owner = self.values.typeof(function[1], scope)
        how = self._writer(owner, name, function[1], scope, arguments)
        if how == "status":
            return self._runtime_write(name, arguments, scope, status=self._subresource(function[1], scope) == "status")
        if how == "client":
            return self._runtime_write(name, arguments, scope, status=False)
        if how in ("typed", "resource"):
            return self._typed_write(call, owner, scope)
        if how == "generic":
            return self._generic_write(call, owner, scope)
        if how == "helper" and name == "Patch" and len(arguments) >= 2:
            raw = Raw("status", "helper", helper="patch helper")
            self.describe(arguments[1], scope, raw)
            raw.lent = self.origins.parameter(function[1], scope) >= 0
            return raw
        return self.elsewhere.classify(call, scope) if outside.may_write(name, scope.file) else None

    def _method_value(self, call: list[Any], scope: Scope) -> Raw | None:
        """`update := r.Status().Update`, then `update(ctx, gadget)`. Of several, a write of status counts."""
        var = scope.find(call[1][1])
        found: Raw | None = None
        for value, position in var.values if var is not None else ():
            if position == 0 and value and value[0] == "." and value[2] in known.WRITES:
                raw = self.classify(["c", value, *call[2:]], var.home(scope) if var is not None else scope)
                found = raw if raw is not None and (found is None or raw.target == "status") else found
        return found

    # -- receivers -----------------------------------------------------------------------------------------------

    def _writer(self, owner: Type, name: str, receiver: list[Any], scope: Scope, arguments: list[Any]) -> str:
        if owner is None:
            return self._by_shape(name, receiver, scope, arguments)
        known_role = known.role(owner)
        if known_role in ("status", "client", "typed", "resource", "helper"):
            return known_role
        member = self.types.member(owner, name)
        if member is None:
            return self._by_shape(name, receiver, scope, arguments) if owner[0] == "tp" else ""
        what, value = member
        if what == "outside":
            inner = known.role(value)
            if inner in ("status", "client", "typed", "resource", "helper"):
                return inner
            if known.is_client_package(value[1]):
                return ""
            if self._generic_kind(value) is not None:
                return "generic"
            return self._by_shape(name, receiver, scope, arguments) if self._foreign_client(value) else ""
        if what == "abstract" and self._like_writer(value[0], name):
            return "status" if self.is_status_writer(receiver) or self._for_subresource(value[0]) else "client"
        if what == "abstract" and self._like_typed(value[0]):
            return "typed"
        if what == "abstract" and name == "UpdateStatus" and len(value[0]) == 1 and self.kinds.is_kind(value[0][0]) and len(value[1]) == 2:
            # Generated without a context: `UpdateStatus(*Gadget) (*Gadget, error)`.
            return "generic"
        return ""

    def _generic_kind(self, client: Type) -> Type:
        """The kind that a client of another module is made for: `generic.ClientInterface[*v1.Gadget, *v1.GadgetList]`."""
        if client is None or client[0] != "n" or not client[3] or not client[2].endswith(("Interface", "Client", "Controller")):
            return None
        kind: Type = client[3][0]
        return kind if self.kinds.is_kind(kind) else None

    def _foreign_client(self, kind: Type) -> bool:
        """A type of another module whose methods cannot be seen, with a client's name or a scope's."""
        return kind is not None and kind[0] == "n" and ("client" in kind[2].lower() or kind[2].endswith(("Scope", "Interface")))

    def _like_writer(self, parameters: list[Type], name: str) -> bool:
        """A local interface method with the signature of controller-runtime's client."""
        return (
            len(parameters) >= 2
            and parameters[0] is not None
            and parameters[0][-2:-1] == ("Context",)
            and parameters[1] is not None
            and parameters[1][0] == "n"
            and known.is_client_package(parameters[1][1])
            and parameters[1][2] == "Object"
        )

    def _for_subresource(self, parameters: list[Type]) -> bool:
        """The options of the last parameter are those of a subresource writer."""
        last = parameters[-1]
        while last is not None and last[0] == "s":
            last = last[1]
        return last is not None and last[0] == "n" and str(last[2]).startswith("SubResource")

    def _like_typed(self, parameters: list[Type]) -> bool:
        """A local interface method with the signature of a generated client: context first, the API's own options last."""
        if len(parameters) < 3 or parameters[0] is None or parameters[0][-2:-1] != ("Context",):
            return False
        return any(
            one is not None and one[0] == "n" and one[1].endswith("apis/meta/v1") and one[2].endswith("Options") for one in parameters[2:]
        )

    def is_status_writer(self, receiver: list[Any]) -> bool:
        """`x.Status()`"""
        return receiver[0] == "c" and receiver[1][0] == "." and receiver[1][2] == "Status" and not receiver[2]

    def _by_shape(self, name: str, receiver: list[Any], scope: Scope, arguments: list[Any]) -> str:
        """The receiver's type is not known: only shapes that nothing but a Kubernetes client has."""
        if name == "UpdateStatus" and len(arguments) == 1 and self._names_version(receiver):
            return "typed"
        if len(arguments) < 2:
            return ""
        first = render(arguments[0])
        if not CONTEXT.search(first):
            return ""
        if self.is_status_writer(receiver) and name in ("Update", "Patch", "Apply", "Create"):
            return "status"
        if name in ("UpdateStatus", "ApplyStatus") and self._has_options(arguments, scope):
            return "typed"
        if self._names_resource(receiver) and any(_is_options(self.values.typeof(one, scope)) for one in arguments[1:]):
            return "typed"
        if receiver[0] == "c" and receiver[1][0] == ".":
            before = receiver[1][1]
            if self._names_version(receiver) or (before[0] == "c" and before[1][0] == "." and before[1][2] == "Resource"):
                return "typed"
            if receiver[1][2] == "Resource" and len(receiver[2]) == 1:
                return "typed"
        if name in ("Update", "Patch", "Create", "Delete", "DeleteAllOf") and _CLIENT_NAME.search(render(receiver)):
            return "client" if self.kinds.is_object(self.values.typeof(arguments[1], scope)) else ""
        return ""

    def _names_version(self, receiver: list[Any]) -> bool:
        """`clients.ShopV1().Gadgets(namespace)`"""
        if receiver[0] != "c" or receiver[1][0] != ".":
            return False
        before = receiver[1][1]
        return before[0] == "c" and before[1][0] == "." and _VERSION_CALL.search(before[1][2]) is not None

    def _names_resource(self, receiver: list[Any]) -> bool:
        """`clients.Gadget(namespace)`: a generated client of another module, made for a namespace."""
        return receiver[0] == "c" and receiver[1][0] == "." and len(receiver[2]) <= 1 and receiver[1][2][:1].isupper()

    def _has_options(self, arguments: list[Any], scope: Scope) -> bool:
        """The options of the API last, or an object of it: a database's `UpdateStatus(ctx, id, "done")` has neither."""
        last = arguments[-1]
        if last[0] == "..." or "Options" in render(last) or render(last).lower().startswith("opt"):
            return True
        kind = self.values.typeof(last, scope)
        return (kind is not None and kind[0] == "n" and str(kind[2]).endswith("Options")) or any(
            self.kinds.is_object(self.values.typeof(one, scope)) for one in arguments[1:]
        )

    def _subresource(self, receiver: list[Any], scope: Scope, depth: int = 0) -> str:
        """Which subresource a writer is for: Status() and SubResource("status") through variables and fields."""
        if depth > 4:
            return "status"
        if receiver[0] == "c" and receiver[1][0] == ".":
            if receiver[1][2] == "SubResource" and receiver[2]:
                texts = self.values.strings(receiver[2][0], scope)
                return texts[0] if texts else "status"
            return "status"
        if receiver[0] == "i":
            var = scope.find(receiver[1])
            if var is not None and var.values:
                return self._subresource(var.values[-1][0], var.home(scope), depth + 1)
        return "status"

    # -- controller-runtime --------------------------------------------------------------------------------------

    def _runtime_write(self, name: str, arguments: list[Any], scope: Scope, status: bool) -> Raw | None:
        if len(arguments) < 2:
            return None
        options = arguments[2:]
        where = "status" if status else "spec"
        match name:
            case "Update":
                raw = Raw(where, "update")
            case "Create":
                raw = Raw("status" if status else "create", "create")
            case "Delete" | "DeleteAllOf":
                raw = Raw("delete", "delete")
            case "Apply":
                raw = Raw(where, "ssa")
            case "Patch":
                raw = Raw(where, "merge-patch")
                if not options:
                    return None
                raw.patches = self.patches.patches(options[0], scope)
                options = options[1:]
            case _:
                return None
        self.describe(arguments[1], scope, raw)
        self._options(options, scope, raw)
        if name == "Patch" and not self._made_here(arguments[1], scope):
            # The whole object is sent, with the version that it was read at.
            raw.patches = [replace(one, verb="merge-patch-locked") if one.source in _WHOLE else one for one in raw.patches]
        if raw.force and name == "Patch" and not raw.patches:
            # Only an apply can be forced: a patch made by another module's function.
            raw.verb = "ssa"
        return raw

    def _made_here(self, expr: list[Any], scope: Scope) -> bool:
        """An object that the function builds, with members, and that no version is known of."""
        values = [expr, *self.kinds.held(expr, scope)]
        return any(value[0] == "&" and value[1][0] == "L" and bool(value[1][2]) for value in values if value)

    def _options(self, options: list[Any], scope: Scope, raw: Raw) -> None:
        for option in options:
            if (
                self.values.mentions(option, "ForceOwnership", scope)
                or self.values.mentions(option, "Force", scope)
                or _forced_literal(option)
            ):
                raw.force = True
            for part in parts(option):
                if part[0] == "c" and render(part[1]).endswith("FieldOwner") and part[2]:
                    texts = self.values.strings(part[2][0], scope)
                    raw.manager = texts[0] if texts else render(part[2][0])

    def describe(self, expr: list[Any], scope: Scope, raw: Raw) -> None:
        kind = self.values.typeof(expr, scope)
        raw.subject = render(expr)
        raw.object_type = kind
        raw.literal = expr[0] == "&" and expr[1][0] == "L"
        raw.kind, raw.api, raw.polymorphic = self.kinds.kind_of(kind)
        if raw.kind and self.kinds.is_interface_elsewhere(kind, expr, scope):
            raw.kind, raw.api, raw.polymorphic = "", "", True
        if raw.polymorphic or not raw.kind:
            named = self.kinds.named_kind(expr, scope) or (self.kinds.spoken.of(expr, scope) if kind is None else "")
            if named:
                raw.kind, raw.polymorphic = named, False
                raw.api = self.kinds.spoken.package_of(named, scope)
        if raw.polymorphic and not raw.kind:
            made_from = self.kinds.converted(expr, scope)
            if made_from is not None:
                raw.kind, raw.api, raw.polymorphic = self.kinds.kind_of(made_from)
        raw.parameter = self.origins.parameter(expr, scope)
        raw.derived = raw.parameter if raw.parameter >= 0 else self.origins.derived(expr, scope)
        if raw.derived < 0:
            raw.derived = self.origins.derived(expr, scope, names=True)
        if raw.derived < 0:
            raw.held = self.origins.of_receiver(expr, scope) or self.origins.is_single(expr, scope)

    # -- client-go -----------------------------------------------------------------------------------------------

    def _typed_write(self, call: list[Any], owner: Type, scope: Scope) -> Raw | None:
        name, arguments = call[1][2], self._with_context(call[2], scope)
        if len(arguments) < 2:
            return None
        match name:
            case "UpdateStatus":
                raw = Raw("status", "update")
            case "ApplyStatus":
                raw = Raw("status", "ssa")
            case "PatchStatus" if outside.patch_type(arguments) == 2:
                return self._typed_patch(call, owner, scope)
            case "PatchStatus":
                raw = Raw("status", self.patches.verb_of_type("", arguments[-1], scope), subject=render(arguments[1]))
                self._kind_from_client(call, owner, scope, raw)
                return raw
            case "Update":
                raw = Raw("spec", "update")
            case "Apply":
                raw = Raw("spec", "ssa")
            case "Create":
                raw = Raw("create", "create")
            case "Delete" | "DeleteCollection":
                raw = Raw("delete", "delete")
            case "Patch":
                return self._typed_patch(call, owner, scope)
            case _:
                return None
        dynamic_apply = name in ("Apply", "ApplyStatus") and len(arguments) >= 4
        if name not in ("Delete", "DeleteCollection"):
            self.describe(arguments[2 if dynamic_apply else 1], scope, raw)
        if self._subresource_argument(arguments[2:], scope):
            raw.target = "status"
        raw.subresource = self._passed_subresource(arguments[2:], scope)
        self._options(arguments[2:], scope, raw)
        self._kind_from_client(call, owner, scope, raw)
        return raw

    def _with_context(self, arguments: list[Any], scope: Scope) -> list[Any]:
        """Clients generated for client-go before 0.18 take no context: one is put in its place."""
        first = self.values.typeof(arguments[0], scope) if arguments else None
        has_one = bool(arguments) and (CONTEXT.search(render(arguments[0])) or (first is not None and first[-2:-1] == ("Context",)))
        return arguments if has_one else [["i", "context"], *arguments]

    def _generic_write(self, call: list[Any], owner: Type, scope: Scope) -> Raw | None:
        """A client that is generic over its kind, with a context or without: `clusters.UpdateStatus(cluster)`,
        `clusters.Patch(namespace, name, types.MergePatchType, data, "status")`."""
        name, arguments = call[1][2], call[2]
        if arguments and CONTEXT.search(render(arguments[0])):
            arguments = arguments[1:]
        typed = outside.patch_type(arguments)
        if name == "Patch" and 0 <= typed < len(arguments) - 1:
            status = self._subresource_argument(arguments[typed + 2 :], scope)
            verb = self.patches.verb_of_type(render(arguments[typed]), arguments[typed + 1], scope)
            built = f"{scope.file.path}:{self._built_at(arguments[typed + 1], scope, call)}"
            source = "types." + render(arguments[typed]).split(".")[-1]
            raw = Raw("status" if status else "spec", verb, subject=render(call[1][1]))
            raw.patches = [Patch(verb, built, source=source, line=call[3])]
        elif name in _GENERIC and len(arguments) == 1:
            raw = Raw(*_GENERIC[name])
            self.describe(arguments[0], scope, raw)
        else:
            return None
        member = self.types.member(owner, name)
        if not raw.kind and member is not None:
            raw.kind, raw.api, raw.polymorphic = self.kinds.kind_of(self._generic_kind(member[1]))
        return raw

    def _typed_patch(self, call: list[Any], owner: Type, scope: Scope) -> Raw | None:
        arguments = self._with_context(call[2], scope)
        if len(arguments) < 4:
            return None
        status = call[1][2] == "PatchStatus" or self._subresource_argument(arguments[4:], scope)
        kind = render(arguments[2])
        if "Type" not in kind:
            held = [render(value) for value in self.kinds.held(arguments[2], scope)]
            kind = held[0] if held else kind
        verb = self.patches.verb_of_type(kind, arguments[3], scope)
        raw = Raw("status" if status else "spec", verb)
        raw.subresource = -1 if status else self._passed_subresource(arguments[4:], scope)
        raw.subject = render(arguments[1]).removesuffix(".Name").removesuffix(".GetName()").removesuffix(".ObjectMeta")
        raw.patches = [
            Patch(
                verb, f"{scope.file.path}:{self._built_at(arguments[3], scope, call)}", source="types." + kind.split(".")[-1], line=call[3]
            )
        ]
        if "Type" not in kind:
            # The type of the patch comes in as a parameter: callers know.
            position = self.origins.parameter(arguments[2], scope)
            raw.patches = [Patch(parameter=position)] if position >= 0 else raw.patches
        raw.versioned = verb == "merge-patch-locked"
        named = arguments[1]
        while named and named[0] in (".", "c"):
            named = named[1]
        raw.parameter = self.origins.parameter(named, scope)
        raw.derived = raw.parameter if raw.parameter >= 0 else self.origins.derived(named, scope, names=True)
        named_type = self.values.typeof(named, scope) if named and named[0] == "i" else None
        if named_type is not None and self.kinds.is_object(named_type):
            raw.kind, raw.api, raw.polymorphic = self.kinds.kind_of(named_type)
        self._options(arguments[4:], scope, raw)
        texts = [text for text in self.values.strings(arguments[3], scope) if text]
        if not status:
            raw.target = _patched_part(texts)
        self._kind_from_client(call, owner, scope, raw)
        return raw

    def _built_at(self, expr: list[Any], scope: Scope, call: list[Any]) -> int:
        for value in self.kinds.held(expr, scope):
            if value and value[0] == "c":
                return int(value[3])
        return int(call[3])

    def _subresource_argument(self, options: list[Any], scope: Scope) -> bool:
        return any(text == "status" for option in options if option[0] in ('"', "i", "...") for text in self.values.strings(option, scope))

    def _passed_subresource(self, options: list[Any], scope: Scope) -> int:
        """The parameter that names the subresource, where callers decide: `subresources...`."""
        for option in options:
            inner = option[1] if option[0] == "..." else option
            var = scope.find(inner[1]) if inner[0] == "i" else None
            if var is not None and var.parameter >= 0 and (option[0] == "..." or var.type == ("b", "string")):
                return var.parameter
        return -1

    def _kind_from_client(self, call: list[Any], owner: Type, scope: Scope, raw: Raw) -> None:
        """The client's own name says the kind where the object does not."""
        if raw.kind and not raw.polymorphic:
            return
        if self.kinds.kind_of_client(owner, raw):
            return
        if owner is not None and owner[0] == "n" and owner[2].endswith("Interface") and known.role(owner) == "typed":
            raw.kind, raw.api = owner[2].removesuffix("Interface"), known.api_package(owner[1])
            raw.polymorphic = False
            return
        receiver = call[1][1]
        while receiver[0] == "i":
            held = self.kinds.held(receiver, scope)
            if not held:
                return
            receiver = held[-1]
        while receiver[0] == "c" and receiver[1][0] == ".":
            method, inner = receiver[1][2], receiver[1][1]
            if method == "Resource" and receiver[2]:
                raw.kind = self.kinds.resource_kind(receiver[2][0], scope) or raw.kind
                return
            if inner[0] == "c" and inner[1][0] == "." and _VERSION_CALL.search(inner[1][2]):
                raw.kind, raw.polymorphic = known.singular(method), False
                return
            spoken = known.singular(method)
            if inner[0] != "c" and not raw.kind and self.kinds.spoken.package_of(spoken, scope):
                raw.kind, raw.api, raw.polymorphic = spoken, self.kinds.spoken.package_of(spoken, scope), False
                return
            receiver = inner

    def _request(self, call: list[Any], scope: Scope) -> Raw | None:
        """A request that the project builds itself with a REST client."""
        sent = rest.request(call, scope)
        if sent is None or "/typed/" in scope.file.package:
            # A client is no use of one, generated or written by hand.
            return None
        subresource = [text for argument in sent.steps.get("SubResource", []) for text in self.values.strings(argument, scope)]
        if subresource and subresource[0] != "status":
            return None
        target = "status" if subresource else {"create": "create", "delete": "delete"}.get(sent.verb, "spec")
        raw = Raw(target, sent.verb, line=sent.line)
        body = sent.steps.get("Body", [])
        if sent.verb == "merge-patch":
            raw.verb = self.patches.verb_of_type(render(sent.opening[0]) if sent.opening else "", body[0] if body else ["?"], scope)
            raw.patches = [Patch(raw.verb, f"{scope.file.path}:{call[3]}", source="rest", line=call[3])]
        elif body:
            self.describe(body[0], scope, raw)
        if not raw.kind:
            named = [text for argument in sent.steps.get("Resource", [])[:1] for text in self.values.strings(argument, scope)]
            raw.kind = known.singular(named[0][:1].upper() + named[0][1:]) if named else ""
            raw.polymorphic = not raw.kind
        for name in sent.steps.get("Name", [])[:1] if raw.derived < 0 else ():
            raw.subject = raw.subject or render(name)
            raw.derived = self.origins.derived(name, scope, names=True)
        return raw

    # -- functions of known packages -----------------------------------------------------------------------------

    def _package_function(self, call: list[Any], scope: Scope) -> Raw | None:
        path, name, arguments = self.values.imported(call[1][1], scope), call[1][2], call[2]
        if name in known.CREATE_OR and len(arguments) >= 4 and path.startswith("sigs.k8s.io/controller-runtime"):
            raw = Raw(_created_or(name, arguments), "helper", helper=f"controllerutil.{name}")
            self.describe(arguments[2], scope, raw)
            return raw
        if (path, name) in known.PATCHES_BOTH and len(arguments) >= 3:
            raw = Raw("status", "helper", helper="patch helper", through=outside.ELSEWHERE)
            self.describe(arguments[1], scope, raw)
            return raw
        if not self.values.project.package_of(path):
            return self.elsewhere.classify(call, scope)
        return None

    def _plain_function(self, call: list[Any], scope: Scope) -> Raw | None:
        name = call[1][1]
        if (
            name in known.CREATE_OR
            and len(call[2]) >= 4
            and any(alias == "." and "controllerutil" in path for alias, path in self.values.project.imports(scope.file).items())
        ):
            raw = Raw(_created_or(name, call[2]), "helper", helper=f"controllerutil.{name}")
            self.describe(call[2][2], scope, raw)
            return raw
        return None


def _created_or(name: str, arguments: list[Any]) -> str:
    """CreateOrPatch sends the status too, where what it is given changes it; CreateOrUpdate does not."""
    changes = name == "CreateOrPatch" and any(argument[0] == "F" and sets_status(argument[1][6]) for argument in arguments)
    return "status" if changes else "spec"


def _is_options(kind: Type) -> bool:
    """The options of a request: `metav1.UpdateOptions{}`."""
    return kind is not None and kind[0] == "n" and str(kind[1]).endswith("apis/meta/v1") and str(kind[2]).endswith("Options")


def _patched_part(texts: list[str]) -> str:
    """Which part of the object the text of a patch changes."""
    joined = " ".join(texts)
    words = set(re.findall(r"[A-Za-z]+", joined))
    if _STATUS_PATH.search(joined) and not _OTHER_PATH.search(joined):
        # A kind without the subresource: its status is written like the rest.
        return "status"
    if "spec" in words:
        return "spec"
    if words & {"finalizers", "labels", "annotations", "ownerReferences", "metadata"}:
        return "metadata"
    return "spec"


def _forced_literal(option: list[Any]) -> bool:
    for part in parts(option):
        if part[0] == "L":
            for key, value in part[2]:
                if key == "Force" and render(value) in ("true", "ptr.To(true)", "pointer.Bool(true)"):
                    return True
    return False

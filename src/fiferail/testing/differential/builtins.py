"""Random conversations about built-in kinds: what operators create, patched in every way, strategic merge included.

Each kind has an object that the server accepts and a list of places with values to put there, good and bad ones. Kinds whose
answers depend on a controller or on an allocator are left out.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from fiferail.testing.differential.conversations import MANAGERS, OBJECTS, REMOVE, Conversation, Step

if TYPE_CHECKING:
    from random import Random

_CONTAINER = {"name": "c", "image": "i:1"}
_POD = {"containers": [_CONTAINER]}
_TEMPLATE = {"metadata": {"labels": {"a": "b"}}, "spec": _POD}
_SELECTOR = {"matchLabels": {"a": "b"}}
_CONDITION = {"type": "A", "status": "True"}
Place = tuple[tuple[str, ...], tuple[Any, ...]]

_POD_PLACES: tuple[Place, ...] = (
    (
        ("containers",),
        ([_CONTAINER], [{"name": "c", "image": "i:2"}, {"name": "d", "image": "j"}], [{"name": "d", "image": "j"}], [], [{"name": "C_"}]),
    ),
    (("volumes",), ([{"name": "v", "emptyDir": {}}], [{"name": "v"}], [], None)),
    (("nodeSelector",), ({"x": "y"}, {}, None)),
    (("terminationGracePeriodSeconds",), (5, 0, -1, "x")),
    (("imagePullSecrets",), ([{"name": "s"}], [{"name": "s"}, {"name": "t"}], [])),
)


@dataclass(frozen=True)
class BuiltIn:
    """One kind: where it is served, an object that is fine, and what to change in it."""

    group: str
    version: str
    plural: str
    kind: str
    body: dict[str, Any]
    places: tuple[Place, ...]
    status: tuple[Place, ...] = ()

    @property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version


def _below(prefix: tuple[str, ...], places: tuple[Place, ...]) -> tuple[Place, ...]:
    return tuple((prefix + where, values) for where, values in places)


_CONDITIONS: tuple[Any, ...] = (
    [_CONDITION],
    [{"type": "A", "status": "False"}, {"type": "B", "status": "True"}],
    [{"type": "B", "status": "True", "reason": "R"}],
    [],
    [_CONDITION, _CONDITION],
    None,
)
KINDS = (
    BuiltIn("", "v1", "configmaps", "ConfigMap", {"data": {"k": "1"}}, (
        (("data",), ({"k": "2"}, {"l": "3"}, {}, None, {"bad key": "x"}, {"k": 5}, [])),
        (("data", "k"), ("4", None, 7)),
        (("binaryData",), ({"b": "aGk="}, {"b": "%"}, {"k": "aGk="})),
        (("immutable",), (True, False, "x")),
    )),
    BuiltIn("", "v1", "secrets", "Secret", {"data": {"k": "aGk="}}, (
        (("data",), ({"k": "aGk="}, {"l": "aGk="}, {}, {"k": "%"}, None)),
        (("stringData",), ({"s": "x"}, {"k": "y"}, {})),
        (("type",), ("Opaque", "other", "kubernetes.io/tls")),
    )),
    BuiltIn("", "v1", "serviceaccounts", "ServiceAccount", {}, (
        (("imagePullSecrets",), ([{"name": "a"}], [{"name": "a"}, {"name": "b"}], [], [{"name": "b"}])),
        (("secrets",), ([{"name": "a"}], [{"name": "b", "kind": "Secret"}], [])),
        (("automountServiceAccountToken",), (True, False, None, "x")),
    )),
    BuiltIn("apps", "v1", "deployments", "Deployment", {"spec": {"selector": _SELECTOR, "template": _TEMPLATE}}, (
        (("spec", "replicas"), (0, 2, 5, -1, None, "x")),
        (("spec", "paused"), (True, False)),
        (("spec", "minReadySeconds"), (0, 5, -1)),
        (("spec", "strategy"), ({"type": "Recreate"}, {"type": "RollingUpdate"}, {"type": "Bad"}, None)),
        (("spec", "strategy", "rollingUpdate", "maxSurge"), (1, "30%", "x")),
        (("spec", "selector"), ({"matchLabels": {"x": "y"}}, _SELECTOR)),
        (("spec", "template", "metadata", "labels"), ({"a": "b", "c": "d"}, {"c": "d"})),
        *_below(("spec", "template", "spec"), _POD_PLACES),
    ), (
        (("status", "replicas"), (1, 2, -1)),
        (("status", "conditions"), _CONDITIONS),
        (("status", "observedGeneration"), (1, 2)),
    )),
    BuiltIn("apps", "v1", "statefulsets", "StatefulSet", {"spec": {"selector": _SELECTOR, "template": _TEMPLATE, "serviceName": "s"}}, (
        (("spec", "replicas"), (0, 2, -1, None)),
        (("spec", "serviceName"), ("t", "s")),
        (("spec", "podManagementPolicy"), ("Parallel", "OrderedReady", "x")),
        *_below(("spec", "template", "spec"), _POD_PLACES),
    ), ((("status", "replicas"), (1, 2)), (("status", "conditions"), _CONDITIONS))),
    BuiltIn("", "v1", "pods", "Pod", {"spec": _POD}, (
        *_below(("spec",), _POD_PLACES),
        (("spec", "activeDeadlineSeconds"), (10, 5, 0)),
        (("spec", "restartPolicy"), ("Never", "Always", "x")),
    ), ((("status", "phase"), ("Running", "Failed")), (("status", "conditions"), _CONDITIONS), (("status", "podIP"), ("10.1.2.3", "x")))),
    BuiltIn("coordination.k8s.io", "v1", "leases", "Lease", {"spec": {"holderIdentity": "h"}}, (
        (("spec", "holderIdentity"), ("i", "", None)),
        (("spec", "leaseDurationSeconds"), (5, 0, -1, "x")),
        (("spec", "leaseTransitions"), (1, 2, -1)),
        (("spec", "renewTime"), ("2026-01-02T03:04:05.000000Z", "2026-01-02T03:04:05Z", "x", None)),
    )),
    BuiltIn("rbac.authorization.k8s.io", "v1", "roles", "Role", {"rules": [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}]}, (
        (("rules",), ([], [{"apiGroups": [""], "resources": ["pods"], "verbs": []}], None)),
        (("rules",), ([{"nonResourceURLs": ["/x"], "verbs": ["get"]}], [{"apiGroups": ["a"], "resources": ["b"], "verbs": ["*"]}])),
    )),
    BuiltIn("policy", "v1", "poddisruptionbudgets", "PodDisruptionBudget", {"spec": {"minAvailable": 1, "selector": _SELECTOR}}, (
        (("spec", "minAvailable"), (2, "50%", "x", -1, None)),
        (("spec", "maxUnavailable"), (1, "10%", None)),
        (("spec", "selector"), ({"matchLabels": {"x": "y"}}, {})),
    ), ((("status", "conditions"), _CONDITIONS), (("status", "currentHealthy"), (1, 2, -1)))),
)  # fmt: skip


def conversation(rng: Random, kind: BuiltIn, length: int, origin: str = "") -> Conversation:
    """A conversation about one built-in kind."""
    author = _Author(rng, kind)
    steps = [author.create("a")] + [author.step() for _ in range(length - 1)]
    sentinel = {"apiVersion": kind.api_version, "kind": kind.kind, **kind.body}
    watch = rng.choice(({}, {"labelSelector": "tier=x"}))
    return Conversation([], steps, kind.plural, watch, origin, group=kind.group, version=kind.version, sentinel=sentinel)


class _Author:
    def __init__(self, rng: Random, kind: BuiltIn) -> None:
        self.rng, self.kind = rng, kind

    def step(self) -> Step:
        makers = (
            self.any_create,
            self.put,
            self.merge,
            self.merge,
            self.strategic,
            self.strategic,
            self.json,
            self.apply,
            self.apply,
            self.delete,
            self.read,
        )
        return self.rng.choice(makers)()

    def some(self, probability: float) -> bool:
        return self.rng.random() < probability

    def target(self) -> tuple[str, str, tuple[Place, ...]]:
        """(name, subresource, places)"""
        name = self.rng.choice(OBJECTS)
        if self.kind.status and self.some(0.35):
            return name, "status", self.kind.status
        return name, "", self.kind.places

    def path(self, name: str = "", sub: str = "") -> str:
        return "/".join(part for part in (self.kind.version, self.kind.plural, name, sub) if part)

    def query(self) -> dict[str, str]:
        query = {"fieldManager": self.rng.choice(MANAGERS)} if self.some(0.8) else {}
        if self.some(0.05):
            query["dryRun"] = "All"
        if self.some(0.1):
            query["fieldValidation"] = self.rng.choice(("Strict", "Ignore"))
        return query

    def change(self, places: tuple[Place, ...]) -> tuple[tuple[str, ...], Any]:
        where, values = self.rng.choice(places)
        return where, self.rng.choice(values)

    def tree(self, places: tuple[Place, ...]) -> dict[str, Any]:
        """One or two changes as a tree, with some metadata."""
        made: dict[str, Any] = {}
        for _ in range(self.rng.choice((1, 1, 2))):
            where, content = self.change(places)
            _put(made, where, content)
        if self.some(0.25):
            made["metadata"] = {"labels": {"tier": self.rng.choice(("x", "y", None))}}
        if self.some(0.1):
            made["metadata"] = {"finalizers": self.rng.choice((["fiferail.dev/a"], ["fiferail.dev/b"], None))}
        if self.some(0.03):
            made["nosuch"] = 1
        return made

    def any_create(self) -> Step:
        return self.create(self.rng.choice(OBJECTS))

    def create(self, name: str) -> Step:
        body = copy.deepcopy({"apiVersion": self.kind.api_version, "kind": self.kind.kind, "metadata": {"name": name}, **self.kind.body})
        if self.some(0.4):
            where, content = self.change(self.kind.places)
            _put(body, where, content)
        return Step("POST", self.path(), query=self.query(), body=body)

    def put(self) -> Step:
        name, sub, places = self.target()
        edits: list[tuple[list[str | int], Any]] = []
        for _ in range(self.rng.choice((1, 2))):
            where, content = self.change(places)
            edits.append((list(where), REMOVE if self.some(0.15) else content))
        if self.some(0.15):
            edits.append((["metadata", "resourceVersion"], self.rng.choice(("${stale:a}", REMOVE))))
        return Step("PUT", self.path(name, sub), query=self.query(), base=name, edits=edits)

    def merge(self) -> Step:
        name, sub, places = self.target()
        return Step("PATCH", self.path(name, sub), type="merge", query=self.query(), body=self.tree(places))

    def strategic(self) -> Step:
        name, sub, places = self.target()
        body = self.tree(places)
        if self.some(0.15):
            body = _directed(self.rng, body)
        return Step("PATCH", self.path(name, sub), type="strategic", query=self.query(), body=body)

    def json(self) -> Step:
        name, sub, places = self.target()
        where, content = self.change(places)
        operation: dict[str, Any] = {"op": self.rng.choice(("add", "replace", "remove", "test")), "path": "/" + "/".join(where)}
        if operation["op"] != "remove":
            operation["value"] = content
        return Step("PATCH", self.path(name, sub), type="json", query=self.query(), body=[operation])

    def apply(self) -> Step:
        name, sub, places = self.target()
        tree = self.tree(places)
        body = {"apiVersion": self.kind.api_version, "kind": self.kind.kind, **tree}
        body["metadata"] = {"name": name, **tree.get("metadata", {})}
        query = {**self.query(), "fieldManager": self.rng.choice(MANAGERS)}
        if self.some(0.4):
            query["force"] = "true"
        return Step("PATCH", self.path(name, sub), type="apply", query=query, body=body)

    def delete(self) -> Step:
        body = {"gracePeriodSeconds": 0} if self.some(0.3) else None
        return Step("DELETE", self.path(self.rng.choice(OBJECTS)), body=body)

    def read(self) -> Step:
        name, sub, _ = self.target()
        return Step("GET", self.path(name if self.some(0.7) else "", sub if self.some(0.3) else ""))


def _put(tree: dict[str, Any], where: tuple[str, ...], content: Any) -> None:
    for step in where[:-1]:
        child = tree.get(step)
        if not isinstance(child, dict):
            child = tree[step] = {}
        tree = child
    tree[where[-1]] = copy.deepcopy(content)


def _directed(rng: Random, tree: Any) -> Any:
    """The tree with a directive of strategic merge in one of its objects or keyed entries."""
    if isinstance(tree, dict):
        if rng.random() < 0.3 or not any(isinstance(member, dict | list) for member in tree.values()):
            return {**tree, "$patch": rng.choice(("replace", "delete", "merge"))}
        return {name: _directed(rng, member) if isinstance(member, dict | list) else member for name, member in tree.items()}
    if isinstance(tree, list) and tree and all(isinstance(entry, dict) for entry in tree):
        return [{**tree[0], "$patch": rng.choice(("delete", "replace", "merge"))}, *tree[1:]]
    return tree

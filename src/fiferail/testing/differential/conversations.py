"""Random conversations: what several managers send about a few objects of one kind.

A `Step` is one request, as data. It may mention what only a running server knows through marks in its strings, which the runner
fills in from what that server said before:

    ${rv:a}     the resourceVersion of object a as last seen      ${uid:a}     its uid
    ${stale:a}  the first resourceVersion that was seen           ${continue}  the token of the last partial list

A step with `base` sends the object as last seen, with `edits` made to it: a PUT as clients do it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from fiferail.testing.differential.schemas import GROUP, Definition
from fiferail.testing.differential.values import value

if TYPE_CHECKING:
    from collections.abc import Callable
    from random import Random

OBJECTS = ("a", "a", "a", "b")
MANAGERS = ("one", "two", "three")


class Step(msgspec.Struct, frozen=True, omit_defaults=True):
    """One request of a conversation."""

    method: str
    path: str
    type: str = ""
    query: dict[str, str] = {}
    body: Any = None
    base: str | None = None
    edits: list[tuple[list[str | int], Any]] = []
    agent: str = ""


class Conversation(msgspec.Struct, frozen=True):
    """Steps about one kind, and the CRDs they need. `watch` is the query of the watch that is compared at the end.

    The sentinel is the object whose event ends that watch; `version` is the one it is created in.
    """

    crds: list[dict[str, Any]]
    steps: list[Step]
    plural: str
    watch: dict[str, str] = {}
    origin: str = ""
    group: str = GROUP
    version: str = "v1"
    sentinel: dict[str, Any] = {}


REMOVE = "${remove}"


def conversation(rng: Random, kind: Definition, length: int, origin: str = "") -> Conversation:
    """A conversation about one kind; it begins with a create, because most steps need something to be about."""
    author = _Author(rng, kind)
    steps = [author.create("a")] + [author.step() for _ in range(length - 1)]
    watch = rng.choice(({}, {}, {"labelSelector": "tier=x"}))
    version = kind.versions[0]
    sentinel = {"apiVersion": f"{GROUP}/{version}", "kind": kind.kind, "spec": {}}
    return Conversation([kind.crd], steps, kind.plural, watch, origin, version=version, sentinel=sentinel)


class _Author:
    """Writes steps for one kind."""

    def __init__(self, rng: Random, kind: Definition) -> None:
        self.rng, self.kind = rng, kind
        self.menu: list[tuple[int, Callable[[], Step]]] = [
            (8, self.any_create),
            (2, self.read),
            (12, self.put),
            (18, self.merge_patch),
            (18, self.json_patch),
            (26, self.apply),
            (5, self.delete),
            (4, self.listing),
            (1, self.strategic_patch),
            (1, self.delete_all),
            (3 if kind.scale else 0, self.scale),
            (4, self.finalizers),
        ]

    def step(self) -> Step:
        return self.rng.choices([maker for _, maker in self.menu], [weight for weight, _ in self.menu])[0]()

    # pieces

    def some(self, probability: float) -> bool:
        return self.rng.random() < probability

    def target(self) -> tuple[str, str, str]:
        """(version, name, subresource)"""
        sub = "status" if self.some(0.45 if self.kind.status else 0.03) else ""
        return self.rng.choice(self.kind.versions), self.rng.choice(OBJECTS), sub

    def path(self, version: str, name: str = "", sub: str = "") -> str:
        return "/".join([version, self.kind.plural, *([name] if name else []), *([sub] if sub else [])])

    def query(self, manager: float = 0.8) -> dict[str, str]:
        query: dict[str, str] = {}
        if self.some(manager):
            query["fieldManager"] = self.rng.choice(MANAGERS)
        if self.some(0.06):
            query["dryRun"] = "All" if self.some(0.9) else "Some"
        if self.some(0.15):
            query["fieldValidation"] = self.rng.choice(
                ("Strict", "Strict", "Warn", "Ignore", "Bad") if self.some(0.3) else ("Strict", "Ignore")
            )
        return query

    def part(self, version: str, sub: str, wild: float = 0.06) -> dict[str, Any]:
        """spec, status or both, by what the subresource usually carries."""
        properties = self.kind.schemas[version]["properties"]
        chosen: dict[str, Any] = {}
        for name in ("spec", "status"):
            usual = (name == "status") == (sub == "status")
            if self.some(0.9 if usual else 0.1):
                chosen[name] = value(self.rng, properties[name], wild)
        if self.some(0.02):
            chosen["extra"] = {"unknown": True}
        return chosen

    def metadata(self, name: str) -> dict[str, Any]:
        made: dict[str, Any] = {"name": name}
        if self.some(0.25):
            made["labels"] = {self.rng.choice(("tier", "role")): self.rng.choice(("x", "y"))}
        if self.some(0.15):
            made["annotations"] = {"note": self.rng.choice(("n1", "n2"))}
        if self.some(0.08):
            made["finalizers"] = self.rng.choice((["fiferail.dev/a"], ["fiferail.dev/a", "fiferail.dev/b"], [], ["bad"]))
        if self.some(0.05):
            owner = {"apiVersion": "v1", "kind": "ConfigMap", "name": "o", "uid": "11111111-1111-1111-1111-111111111111"}
            made["ownerReferences"] = [owner if self.some(0.8) else {**owner, "uid": ""}]
        if self.some(0.04):
            made["generation"] = 7
        return made

    def head(self, version: str) -> dict[str, Any]:
        head = {"apiVersion": f"{GROUP}/{version}", "kind": self.kind.kind}
        if self.some(0.02):
            head[self.rng.choice(("apiVersion", "kind"))] = self.rng.choice(("v1", "Wrong", f"{GROUP}/v9", ""))
        return head

    # verbs

    def any_create(self) -> Step:
        return self.create(self.rng.choice(OBJECTS))

    def create(self, name: str) -> Step:
        version = self.rng.choice(self.kind.versions)
        body = {**self.head(version), "metadata": self.metadata(name), **self.part(version, "", 0.03)}
        if self.some(0.3):
            body.update(self.part(version, "status", 0.03))
        if self.some(0.03):
            body["metadata"]["name"] = self.rng.choice(("", "Bad_Name", "a" * 254))
        return Step("POST", self.path(version), query=self.query(), body=body)

    def read(self) -> Step:
        version, name, sub = self.target()
        # Without a resourceVersion: with one the real server answers from its cache, which may be behind.
        return Step("GET", self.path(version, self.rng.choice((name, name, "missing")), sub))

    def put(self) -> Step:
        version, name, sub = self.target()
        schema = self.kind.schemas[version]["properties"]
        edits: list[tuple[list[str | int], Any]] = [(["apiVersion"], f"{GROUP}/{version}")]
        for _ in range(self.rng.randint(1, 3)):
            part = "status" if (sub == "status") == self.some(0.9) else "spec"
            where = self.location(schema[part], [part])
            edits.append((where[0], REMOVE if self.some(0.2) else value(self.rng, where[1])))
        if self.some(0.2):
            edits.append((["metadata", "labels"], {"tier": self.rng.choice(("x", "y"))} if self.some(0.7) else REMOVE))
        if self.some(0.25):
            edits.append((["metadata", "resourceVersion"], self.rng.choice(("${stale:a}", REMOVE, "0", "bad"))))
        if self.some(0.05):
            edits.append((["metadata", "uid"], self.rng.choice(("22222222-2222-2222-2222-222222222222", REMOVE))))
        if self.some(0.08):
            edits.append((["metadata", "managedFields"], self.rng.choice((REMOVE, [], [{}]))))
        return Step("PUT", self.path(version, name, sub), query=self.query(), base=name, edits=edits)

    def merge_patch(self) -> Step:
        version, name, sub = self.target()
        body: Any = self.part(version, sub)
        body = self.nulled(body)
        if self.some(0.2):
            metadata = self.metadata(name)
            body["metadata"] = metadata if self.some(0.1) else {key: member for key, member in metadata.items() if key != "name"}
        if self.some(0.12):
            body.setdefault("metadata", {})["resourceVersion"] = self.rng.choice(("${rv:a}", "${stale:a}", "${rv:b}", ""))
        if self.some(0.04):
            body.setdefault("metadata", {})["uid"] = self.rng.choice(("${uid:a}", "${uid:b}"))
        if self.some(0.02):
            body = self.rng.choice(([], "text", 5, None, {}))
        return Step("PATCH", self.path(version, name, sub), type="merge", query=self.query(), body=body)

    def nulled(self, tree: Any) -> Any:
        """The tree with some members null, as merge patches have them."""
        if not isinstance(tree, dict):
            return tree
        return {name: None if self.some(0.12) else self.nulled(member) for name, member in tree.items()}

    def location(self, schema: dict[str, Any], at: list[str | int]) -> tuple[list[str | int], dict[str, Any]]:
        """A place below a schema, and the schema there."""
        while self.some(0.85):
            properties = schema.get("properties")
            if properties:
                name = self.rng.choice(sorted(properties))
                at, schema = [*at, name], properties[name]
            elif isinstance(schema.get("additionalProperties"), dict):
                at, schema = [*at, self.rng.choice(("alpha", "beta"))], schema["additionalProperties"]
            elif schema.get("type") == "array":
                at, schema = [*at, self.rng.choice((0, 0, 1))], schema["items"]
            else:
                break
        return at, schema

    def json_patch(self) -> Step:
        version, name, sub = self.target()
        operations = [self.json_operation(version, sub) for _ in range(self.rng.choice((1, 1, 1, 2, 3)))]
        body: Any = operations
        if self.some(0.02):
            body = self.rng.choice(({}, None, "x", [1], [{"op": "nosuch", "path": "/spec"}], [{"path": "/spec"}], [{"op": "add"}]))
        return Step("PATCH", self.path(version, name, sub), type="json", query=self.query(), body=body)

    def json_operation(self, version: str, sub: str) -> dict[str, Any]:
        part = "status" if (sub == "status") == self.some(0.9) else "spec"
        where, schema = self.location(self.kind.schemas[version]["properties"][part], [part])
        pointer = self.pointer(where)
        kind = self.rng.choice(("add", "add", "add", "replace", "replace", "remove", "test", "copy", "move"))
        if self.some(0.05):
            pointer = self.rng.choice(
                (
                    "/metadata/labels",
                    "/metadata/labels/tier",
                    "/metadata/resourceVersion",
                    "/metadata/uid",
                    "/metadata/name",
                    "",
                    "/",
                    "spec",
                )
            )
        operation: dict[str, Any] = {"op": kind, "path": pointer}
        if kind in ("add", "replace", "test"):
            operation["value"] = self.patch_value(pointer, schema)
        if kind in ("copy", "move"):
            operation["from"] = self.pointer(self.location(self.kind.schemas[version]["properties"][part], [part])[0])
        return operation

    def patch_value(self, pointer: str, schema: dict[str, Any]) -> Any:
        if pointer == "/metadata/resourceVersion":
            return self.rng.choice(("${rv:a}", "${stale:a}"))
        if pointer == "/metadata/uid":
            return self.rng.choice(("${uid:a}", "${uid:b}"))
        if pointer.startswith("/metadata"):
            return self.rng.choice(("x", {"tier": "x"}))
        made = value(self.rng, schema)
        # A list with a null in it makes the real server's comparison panic: there is no answer to compare with.
        return None if "null" in str(msgspec.json.encode(made)) and made is not None else made

    def pointer(self, where: list[str | int]) -> str:
        steps = [str(step) for step in where]
        if isinstance(where[-1], int) and self.some(0.4):
            steps[-1] = self.rng.choice(("-", "-1", "9", "00"))
        return "/" + "/".join(steps)

    def apply(self) -> Step:
        version, name, sub = self.target()
        wild = 0.0 if self.some(0.6) else 0.04
        body: Any = {**self.head(version), "metadata": self.metadata(name), **self.part(version, sub, wild)}
        query = self.query(0.97)
        if self.some(0.35):
            query["force"] = self.rng.choice(("true", "true", "True", "1"))
        if self.some(0.04):
            body["metadata"]["resourceVersion"] = self.rng.choice(("${rv:a}", "${stale:a}"))
        if self.some(0.02):
            body["metadata"]["managedFields"] = [{}] if self.some(0.5) else []
        if self.some(0.02):
            body["metadata"].pop("name")
        return Step("PATCH", self.path(version, name, sub), type="apply", query=query, body=body)

    def strategic_patch(self) -> Step:
        version, name, sub = self.target()
        return Step(
            "PATCH", self.path(version, name, sub), type=self.rng.choice(("strategic", "application/json")), query=self.query(), body={}
        )

    def delete(self) -> Step:
        version, name, _ = self.target()
        body: Any = None
        if self.some(0.5):
            body = {"apiVersion": "v1", "kind": "DeleteOptions"}
            if self.some(0.4):
                key = self.rng.choice(("uid", "resourceVersion"))
                body["preconditions"] = {key: self.rng.choice(("${uid:a}", "${uid:b}") if key == "uid" else ("${rv:a}", "${stale:a}"))}
            if self.some(0.4):
                body["propagationPolicy"] = self.rng.choice(("Foreground", "Background", "Orphan", "Bad"))
            if self.some(0.1):
                body["dryRun"] = ["All"]
            if self.some(0.2):
                body["gracePeriodSeconds"] = self.rng.choice((0, 5, -1))
        return Step("DELETE", self.path(version, name), body=body, query={"dryRun": "All"} if self.some(0.05) else {})

    def delete_all(self) -> Step:
        query = {"labelSelector": "tier=x"} if self.some(0.7) else {}
        return Step("DELETE", self.path(self.rng.choice(self.kind.versions)), query=query)

    def finalizers(self) -> Step:
        """Lets go of, or adds, finalizers, which is what ends a deletion."""
        version, name, _ = self.target()
        held = self.rng.choice((None, None, [], ["fiferail.dev/a"], ["fiferail.dev/b"]))
        return Step("PATCH", self.path(version, name), type="merge", query=self.query(), body={"metadata": {"finalizers": held}})

    def listing(self) -> Step:
        query: dict[str, str] = {}
        if self.some(0.5):
            query["labelSelector"] = self.rng.choice(
                ("tier=x", "tier!=x", "tier in (x,y)", "!tier", "tier", "tier notin (x)", "=", "tier==x,role", "a in")
            )
        if self.some(0.4):
            choices = ["metadata.name=a", "metadata.name!=a", "metadata.namespace=nowhere", "status.phase=x", "metadata.name"]
            choices += ["spec.selected=red", "spec.selected!=red"]
            query["fieldSelector"] = self.rng.choice(choices)
        if self.some(0.3):
            query["limit"] = self.rng.choice(("1", "1", "500", "-1", "x"))
        elif self.some(0.15):
            query.update(limit="1", **{"continue": "${continue}"})
        if self.some(0.1):
            # Only what does not depend on how far the real server's cache has come.
            query["resourceVersion"], query["resourceVersionMatch"] = self.rng.choice((("${rv:a}", "Exact"), ("x", "Exact"), ("1", "Bad")))
        return Step("GET", self.path(self.rng.choice(self.kind.versions)), query=query)

    def scale(self) -> Step:
        version, name, _ = self.target()
        path = self.path(version, name, "scale")
        choice = self.rng.random()
        if choice < 0.3:
            return Step("GET", path)
        replicas = self.rng.choice((0, 1, 5, -1))
        if choice < 0.7:
            return Step("PATCH", path, type="merge", query=self.query(), body={"spec": {"replicas": replicas}})
        body = {"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": {"name": name}, "spec": {"replicas": replicas}}
        if choice < 0.85:
            return Step(
                "PATCH", path, type="apply", query={"fieldManager": "one", **({"force": "true"} if self.some(0.5) else {})}, body=body
            )
        return Step("PUT", path, query=self.query(), body=body)

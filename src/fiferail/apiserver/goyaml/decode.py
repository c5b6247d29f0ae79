"""YAML text to the JSON tree that the server makes of it, with the complaints of its strict reader.

Mirrors the decoder of go.yaml.in/yaml/v2 and the conversion to JSON of sigs.k8s.io/yaml: of keys that stand twice the last counts,
keys that are numbers or booleans become text, aliases and merge keys are expanded as long as they are no more than a share of all
values. Called through the package.
"""

from __future__ import annotations

import math
import struct
from typing import TYPE_CHECKING

import msgspec

from ...objects import gojson, gotext
from .nodes import MOST_NODES, Alias, Mapping, Scalar, Sequence, YamlError, documents, too_deep, too_many
from .scalars import MERGE, value_of

if TYPE_CHECKING:
    from ...objects.tree import Json
    from .nodes import Node

#: Alias expansion may be 99% of a small text and 10% of a large one.
_FEW, _MANY = 400_000, 4_000_000


class Document(msgspec.Struct):
    """What a YAML text holds. `doubled`: what the strict reader says about keys that stand twice, one line each."""

    tree: Json
    doubled: list[str]

    @property
    def strict_error(self) -> str:
        """The strict reader's error; empty when it has none."""
        return "yaml: unmarshal errors:\n  " + "\n  ".join(self.doubled) if self.doubled else ""


class Key(msgspec.Struct, frozen=True):
    """A key that is not text. Python's `1 == True == 1.0` does not hold here."""

    type: str
    value: float | None

    @property
    def text(self) -> str:
        """As JSON has it. Raises YamlError for what cannot be a key there."""
        if self.type == "float64":
            return _key_of_float(float(self.value or 0))
        return self.syntax

    @property
    def syntax(self) -> str:
        """As Go prints it with `%#v`."""
        if self.type == "<nil>":
            return "<nil>"
        if self.type == "uint64":
            return hex(int(self.value or 0))
        return gotext.plain(self.value)


def read(data: bytes) -> Document:
    """The first document of a text; what follows it is not looked at, as on the server. Raises YamlError, Unsupported."""
    for root in documents(data):
        return _document(root)
    return Document(None, [])


def read_all(data: bytes) -> list[Json]:
    """Every document of a text, as manifests have them. Raises YamlError, Unsupported."""
    return [_document(root).tree for root in documents(data)]


def _document(root: Node | None) -> Document:
    decoder = _Decoder()
    try:
        tree = decoder.value(root)
    except RecursionError:
        raise too_deep() from None
    if decoder.odd_keys:
        tree = _with_text_keys(tree)
    if decoder.odd_numbers:
        tree = _as_json(tree)
    return Document(tree, decoder.doubled)


class _Decoder:
    """One pass over the nodes. Recursion is as deep as the nodes are, times the aliases inside one another: see `_alias`."""

    def __init__(self) -> None:
        self.doubled: list[str] = []
        self.odd_keys = False
        self.odd_numbers = False
        self._values = 1  # the document itself
        self._aliased = 0
        self._following: list[Alias] = []
        self._depth = 0

    def value(self, node: Node | None) -> Json:
        """The value of a node."""
        self._count()
        if type(node) is Scalar:
            return self._scalar(node)
        if type(node) is Mapping:
            found: dict[str | Key, Json] = {}
            self._fill(node, found)
            return found
        if type(node) is Sequence:
            self._enter()
            children = [self.value(child) for child in node.children]
            self._depth -= 1
            return children
        return self._alias(node, None) if type(node) is Alias else None

    def _count(self) -> None:
        self._values += 1
        if not self._following:
            if self._values > MOST_NODES:
                raise too_many()
            return
        self._aliased += 1
        if self._aliased > 100 and self._values > 1000 and self._aliased / self._values > _allowed(self._values):
            raise YamlError("yaml: document contains excessive aliasing")
        if self._values > MOST_NODES:
            raise too_many()

    def _enter(self) -> None:
        self._depth += 1
        if self._depth > gojson.DEEPEST:
            raise too_deep()

    def _scalar(self, node: Scalar) -> Json:
        if not node.tag and not node.implicit:
            return node.value
        found = value_of(node.tag, node.value)
        if type(found) is float or (type(found) is int and not -(2**63) <= found < 2**63):
            self.odd_numbers = True
        return found

    def _alias(self, node: Alias, into: dict[str | Key, Json] | None) -> Json:
        if any(node is open_one for open_one in self._following):
            raise YamlError(f"yaml: anchor '{node.name}' value contains itself")
        self._following.append(node)
        if into is not None and type(node.target) is Mapping:
            self._count()
            self._fill(node.target, into)
            value: Json = into
        else:
            value = self.value(node.target)
        self._following.pop()
        return value

    def _fill(self, node: Mapping, found: dict[str | Key, Json]) -> None:
        self._enter()
        children = iter(node.children)
        for key_node, value_node in zip(children, children, strict=True):
            if type(key_node) is Scalar and key_node.value == "<<" and (key_node.implicit or key_node.tag == MERGE):
                self._merge(value_node, found)
                continue
            key = self._key(self.value(key_node))
            value = self.value(value_node)
            if key in found:
                shown = gotext.quoted(key) if isinstance(key, str) else key.syntax
                self.doubled.append(f"line {value_node.line + 1}: key {shown} already set in map")
            found[key] = value
        self._depth -= 1

    def _key(self, value: Json) -> str | Key:
        if type(value) is str:
            return value
        if isinstance(value, (dict, list)):
            raise YamlError(f"yaml: invalid map key: {_syntax(value)}")
        self.odd_keys = True
        return Key(_type_name(value), value)

    def _merge(self, node: Node, found: dict[str | Key, Json]) -> None:
        """Fills in the members of a map, or of each map of a list, the last first."""
        for one in reversed(node.children) if type(node) is Sequence else [node]:
            target = one.target if type(one) is Alias else one
            if type(target) is not Mapping:
                raise YamlError("yaml: map merge requires map or sequence of maps as the value")
            self._count()
            if type(one) is Alias:
                self._alias(one, found)
            else:
                self._fill(target, found)


def _allowed(values: int) -> float:
    """Which share of the values may come from aliases."""
    if values <= _FEW:
        return 0.99
    return 0.10 if values >= _MANY else 0.99 - 0.89 * ((values - _FEW) / (_MANY - _FEW))


def _type_name(value: Json) -> str:
    if type(value) is int and value >= 2**63:
        return "uint64"
    return {bool: "bool", int: "int", float: "float64"}.get(type(value), "<nil>")


def _with_text_keys(tree: Json) -> Json:
    """The tree with every key as text."""
    if isinstance(tree, list):
        return [_with_text_keys(child) for child in tree]
    if not isinstance(tree, dict):
        return tree
    found: Json = {}
    for key, value in tree.items():
        if isinstance(key, Key):
            if key.type in ("<nil>", "uint64"):
                shown = "%!s(<nil>)" if key.type == "<nil>" else key.type
                raise YamlError(f"unsupported map key of type: {shown}, key: {key.syntax}, value: {_syntax(value)}")
            key = key.text
        found[key] = _with_text_keys(value)
    return found


def _as_json(tree: Json) -> Json:
    """The tree after a round trip through JSON text, where 1.0 is 1 and no number is infinite."""
    for value in _numbers(tree):
        if math.isnan(value) or math.isinf(value):
            raise YamlError(f"json: unsupported value: {gotext.number(value)}")
    return gojson.normalised(tree)


def _numbers(tree: Json) -> list[float]:
    if isinstance(tree, float):
        return [tree]
    children = tree.values() if isinstance(tree, dict) else tree if isinstance(tree, list) else ()
    return [number for child in children for number in _numbers(child)]


def _key_of_float(value: float) -> str:
    """The number with the digits of a float32, which is how the server spells it."""
    if math.isnan(value):
        return ".nan"
    try:
        narrow = struct.unpack("f", struct.pack("f", value))[0]
    except OverflowError:
        narrow = math.copysign(math.inf, value)
    if math.isinf(narrow):
        return ".inf" if narrow > 0 else "-.inf"
    for digits in range(1, 10):
        text = f"{narrow:.{digits}g}"
        if struct.unpack("f", struct.pack("f", float(text)))[0] == narrow:
            return gotext.number(float(text))
    return gotext.number(narrow)


def _syntax(value: Json) -> str:
    """A value as Go prints it with `%#v`."""
    if isinstance(value, dict):
        members = (f"{gotext.quoted(key) if isinstance(key, str) else key.syntax}:{_syntax(member)}" for key, member in _sorted(value))
        return "map[interface {}]interface {}{" + ", ".join(members) + "}"
    if isinstance(value, list):
        return "[]interface {}{" + ", ".join(map(_syntax, value)) + "}"
    if value is None:
        return "interface {}(nil)"
    return gotext.quoted(value) if isinstance(value, str) else Key(_type_name(value), value).syntax


def _sorted(tree: Json) -> list[tuple[str | Key, Json]]:
    return sorted(tree.items(), key=lambda pair: (isinstance(pair[0], str), pair[0] if isinstance(pair[0], str) else pair[0].syntax))

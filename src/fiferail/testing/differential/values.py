"""Random values for a schema: valid ones, and ones that are wrong in some place on purpose."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fiferail.testing.differential.schemas import NAMES, WORDS

if TYPE_CHECKING:
    from random import Random

#: The one time that conversations send; every other time in an answer is the server's.
USER_TIME = "2026-01-02T03:04:05Z"
_FORMATS = {
    "date-time": USER_TIME,
    "date": "2026-01-02",
    "duration": "1h",
    "uuid": "6ba7b810-9dad-11d1-80b4-00c04fd430c8",
    "ipv4": "10.0.0.1",
    "byte": "aGk=",
    "hostname": "a.example",
    "email": "a@example.com",
    "uri": "https://a.example/x",
}
_ODD: tuple[Any, ...] = (
    None,
    "text",
    "",
    0,
    1,
    -1,
    1.5,
    1.0,
    True,
    [],
    {},
    [1],
    ["a", "a"],
    {"alpha": 1},
    [None],
    {"alpha": None},
    2**40,
    "é<&>",
)


def value(rng: Random, schema: dict[str, Any], wild: float = 0.06) -> Any:
    """A value for the schema; each node is, with probability `wild`, something that may not fit."""
    if rng.random() < wild:
        return rng.choice(_ODD)
    if schema.get("nullable") and rng.random() < 0.2:
        return None
    kind = schema.get("type") or ("int-or-string" if schema.get("x-kubernetes-int-or-string") else "any")
    return _MAKERS[kind](rng, schema, wild)


def valid(rng: Random, schema: dict[str, Any]) -> Any:
    """A value that the schema accepts, for defaults."""
    return value(rng, schema, 0.0)


def _string(rng: Random, schema: dict[str, Any], wild: float) -> Any:
    if "enum" in schema:
        return rng.choice(schema["enum"])
    if schema.get("format") in _FORMATS:
        return _FORMATS[schema["format"]]
    if "pattern" in schema:
        return "red"
    words = [word for word in WORDS if len(word) >= schema.get("minLength", 0)]
    return rng.choice(words)


def _integer(rng: Random, schema: dict[str, Any], wild: float) -> Any:
    return rng.choice((2, 4, 6, 8)) if wild == 0.0 or rng.random() < 0.7 else rng.choice((0, 1, 3, 10, 11, -7, 2**31, 1.0))


def _number(rng: Random, schema: dict[str, Any], wild: float) -> Any:
    return rng.choice((0.5, 1.5, 2, 1)) if wild == 0.0 or rng.random() < 0.8 else rng.choice((2.75, 1e21, 1.0, -0.5, 1e-7, 100))


def _boolean(rng: Random, schema: dict[str, Any], wild: float) -> Any:
    return rng.random() < 0.5


def _int_or_string(rng: Random, schema: dict[str, Any], wild: float) -> Any:
    return rng.choice((1, "50%", 2, "x"))


def _any(rng: Random, schema: dict[str, Any], wild: float) -> Any:
    return rng.choice(("red", 1, True, {"alpha": "x"}, ["a"]))


def _object(rng: Random, schema: dict[str, Any], wild: float) -> Any:
    made: dict[str, Any] = {}
    required = schema.get("required", [])
    for name, child in schema.get("properties", {}).items():
        if name in required or rng.random() < 0.5:
            made[name] = value(rng, child, wild)
    if isinstance(schema.get("additionalProperties"), dict):
        for name in rng.sample(NAMES, rng.randint(0, min(2, schema.get("maxProperties", 2)))):
            made[name] = value(rng, schema["additionalProperties"], wild)
    if rng.random() < (0.4 if schema.get("x-kubernetes-preserve-unknown-fields") else wild):
        made[rng.choice(("unknown", "beta"))] = rng.choice(("u", 1, {"deep": [1, {"x": None}]}, [{"a": 1}], None)) if wild else "u"
    return made


def _array(rng: Random, schema: dict[str, Any], wild: float) -> Any:
    low, high = schema.get("minItems", 0), schema.get("maxItems", 3)
    made = [value(rng, schema["items"], wild) for _ in range(rng.randint(low, high))]
    if schema.get("x-kubernetes-list-type") not in ("set", "map") or (wild and rng.random() < 0.08):
        return made
    keys = schema.get("x-kubernetes-list-map-keys")
    unique: list[Any] = []
    seen: set[str] = set()
    for item in made:
        mark = repr([item.get(key, _default(schema, key)) for key in keys] if keys and isinstance(item, dict) else item)
        if mark not in seen:
            seen.add(mark)
            unique.append(item)
    return unique if len(unique) >= low or wild else made


def _default(schema: dict[str, Any], key: str) -> Any:
    return schema["items"].get("properties", {}).get(key, {}).get("default")


_MAKERS = {
    "string": _string,
    "integer": _integer,
    "number": _number,
    "boolean": _boolean,
    "int-or-string": _int_or_string,
    "any": _any,
    "object": _object,
    "array": _array,
}

"""Names of managers: the default one, and what is wrong with a given one. Called by the API server before a write."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .. import fielderrors

if TYPE_CHECKING:
    from ..fielderrors import FieldError

_MAX_BYTES = 128


def default_manager(user_agent: str) -> str:
    """The manager of a request that names none: its User-Agent up to the first slash, printable and at most 128 bytes."""
    name = user_agent.partition("/")[0]
    if name.isascii() and name.isprintable() and len(name) <= _MAX_BYTES:
        return name
    kept, size = [], 0
    for char in filter(_is_printable, name):
        size += len(char.encode("utf-8", "replace"))
        if size > _MAX_BYTES:
            break
        kept.append(char)
    return "".join(kept)


def manager_errors(manager: str, *, apply: bool, field: str = "fieldManager") -> list[FieldError]:
    """What is wrong with the manager that a request names; the caller answers 422 for its options."""
    errors: list[FieldError] = []
    if apply and not manager:
        errors.append(fielderrors.required(field, "is required for apply patch"))
    if len(manager.encode("utf-8", "replace")) > _MAX_BYTES:
        errors.append(fielderrors.too_long(field, _MAX_BYTES))
    position = 0
    for char in manager:
        if not _is_printable(char):
            errors.append(fielderrors.invalid(field, manager, f"invalid character {_code_point(char)} (at position {position})"))
        position += len(char.encode("utf-8", "replace"))
    return errors


def _is_printable(char: str) -> bool:
    return char == " " or (char.isprintable() and not char.isspace())


def _code_point(char: str) -> str:
    """`%#U`: the code point, and the character where it can be shown."""
    return f"U+{ord(char):04X}" + (f" '{char}'" if _is_printable(char) else "")

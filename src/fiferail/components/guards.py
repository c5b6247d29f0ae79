"""Guards: what has to be there before a resource may be applied or fetched.

A guard is a data cell that an earlier resource fills, or a function that answers with True, with False, or with the text of what
it waits for. Cells are judged first, all of them at once; then the functions in order. Not asked while the component is suspended.
"""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any, TypeAlias

from ..errors import FiferailError
from .data import Data, waiting

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

#: A cell, or a function without arguments: True or None lets pass; False, or a text, blocks. It may be async.
Guard: TypeAlias = "Data[Any] | Callable[[], bool | str | Awaitable[bool | str | None] | None]"


def cells_of(guards: Sequence[Guard]) -> tuple[Data[Any], ...]:
    """Those guards that are cells."""
    return tuple(guard for guard in guards if isinstance(guard, Data))


async def blocked_by(guards: Sequence[Guard], name: str) -> str:
    """What the guards wait for; nothing when they all let pass."""
    message = waiting(cells_of(guards))
    if message:
        return message
    for guard in guards:
        if isinstance(guard, Data):
            continue
        message = refusal(await settled(guard()), f"the guard of {name} does not let pass")
        if message:
            return message
    return ""


async def settled(answer: Any) -> Any:
    """The answer of a function that may be async."""
    return await answer if inspect.isawaitable(answer) else answer


def refusal(answer: Any, plain: str) -> str:
    """The text of a no, the plain one where the answer has none of its own; nothing for a yes."""
    if answer is None or answer is True:
        return ""
    if answer is False:
        return plain
    if isinstance(answer, str):
        return answer
    raise FiferailError(f"expected True, False or a text that says what is missing, got {answer!r}")

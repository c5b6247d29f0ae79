"""For kopf operators: a Conflict becomes a short TemporaryError, so that the handler runs again soon.

kopf's own default for an exception is a minute. Use the operator's own client, or `fiferail.connect_async()`, for the writer.
"""

from __future__ import annotations

import functools
import inspect
from typing import TYPE_CHECKING, Any, TypeVar, overload

from ..errors import Conflict, FiferailError, missing_extra

if TYPE_CHECKING:
    from collections.abc import Callable

Handler = TypeVar("Handler", bound="Callable[..., Any]")


@overload
def requeue_conflicts(handler: Handler) -> Handler: ...
@overload
def requeue_conflicts(handler: None = None, *, delay: float = 1.0) -> Callable[[Handler], Handler]: ...
def requeue_conflicts(handler: Any = None, *, delay: float = 1.0) -> Any:
    """Decorate a handler, sync or async: `@fiferail.kopf.requeue_conflicts` or `@fiferail.kopf.requeue_conflicts(delay=5)`."""
    if handler is None:
        return lambda given: _requeueing(given, delay)
    return _requeueing(handler, delay)


def _requeueing(handler: Any, delay: float) -> Any:
    try:
        import kopf
    except ModuleNotFoundError as missing:
        raise FiferailError("requeue_conflicts " + missing_extra("kopf", missing.name)) from None

    if inspect.iscoroutinefunction(handler):

        @functools.wraps(handler)
        async def awaited(*args: Any, **kwargs: Any) -> Any:
            try:
                return await handler(*args, **kwargs)
            except Conflict as conflict:
                raise kopf.TemporaryError(str(conflict), delay=delay) from conflict

        return awaited

    @functools.wraps(handler)
    def called(*args: Any, **kwargs: Any) -> Any:
        try:
            return handler(*args, **kwargs)
        except Conflict as conflict:
            raise kopf.TemporaryError(str(conflict), delay=delay) from conflict

    return called

"""The common validation of the built-in kinds, exact where `catalogue` says so; everything else is accepted.

`CREATE` and `UPDATE` map (group, kind) to functions that return field errors in the server's order and words. An update is checked
by its own function, which calls the create checks where the server does. Objects come decoded, defaulted and prepared.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from ....objects.fielderrors import FieldError
    from ....objects.tree import Json

    Create = Callable[[Json], list[FieldError]]
    Update = Callable[[Json, Json], list[FieldError]]


def table() -> tuple[dict[tuple[str, str], Create], dict[tuple[str, str], Update], dict[tuple[str, str], Update]]:
    """The checks of creates, of updates and of status updates; imported here, because only writes need them."""
    from .registry import CREATE, UPDATE, UPDATE_STATUS

    return CREATE, UPDATE, UPDATE_STATUS

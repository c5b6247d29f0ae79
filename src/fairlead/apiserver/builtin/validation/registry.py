"""Which function checks which kind."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from . import Create, Update

CREATE: dict[tuple[str, str], Create] = {}
UPDATE: dict[tuple[str, str], Update] = {}
UPDATE_STATUS: dict[tuple[str, str], Update] = {}

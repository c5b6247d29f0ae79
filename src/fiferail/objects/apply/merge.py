"""A configuration merged into an object. Mirrors `typed.Merge`: nothing is removed, what both say is said as the configuration says it.

Called by `operations.applied`. Both sides must conform. The result is the live object itself when the merge changes nothing.
Order of associative lists: as in the configuration where it names items, with the items that only the live list has staying
after what they followed there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .. import paths
from ..tree import ABSENT
from .values import LIST, MAP, ItemError, TypedErrors, form, item_step

if TYPE_CHECKING:
    from ..tree import Json
    from .types import ListType, MapType, Type


def merge(live: Json, config: Json, type_: Type) -> Json:
    """The merged value; at most one side may be ABSENT. TypedErrors where they cannot be merged."""
    if config is ABSENT or live is config:
        return live
    if live is ABSENT:
        return config
    shape = form(type_, config)
    if shape is MAP:
        return _as_map(live, config, type_)
    if shape is LIST:
        return _as_list(live, config, type_)
    return config


def _as_map(live: Json, config: Json, type_: Type) -> Json:
    left, right = live if type(live) is dict else {}, config if type(config) is dict else {}
    if type_.map is None or type_.map.atomic or not (left or right):
        return config
    return _members(left, right, type_.map)


def _members(left: dict[str, Json], right: dict[str, Json], map_: MapType) -> Json:
    changed: dict[str, Json] = {}
    for name, value in right.items():
        type_ = map_.fields.get(name) or map_.element
        assert type_ is not None, name
        before = left.get(name, ABSENT)
        after = merge(before, value, type_)
        if after is not before:
            changed[name] = after
    return {**left, **changed} if changed else left


def _as_list(live: Json, config: Json, type_: Type) -> Json:
    left, right = live if type(live) is list else [], config if type(config) is list else []
    if type_.list is None or not type_.list.associative or not (left or right):
        return config
    return _Items(left, right, type_.list).merged()


class _Items:
    """The merge of two associative lists. The order rules are the server's, step for step."""

    def __init__(self, left: list[Json], right: list[Json], list_: ListType) -> None:
        self.left, self.list = left, list_
        self.rights, self.right_values = _indexed(right, list_, duplicates=False)
        self.lefts, self.left_values = _indexed(left, list_, duplicates=True)
        self.shared = [step for step in self.rights if step in self.left_values]
        self.out: list[Json] = []
        self.done: set[str] = set()

    def merged(self) -> Json:
        """The merged list; the left one itself when it comes to that."""
        at_left = at_right = 0
        expected = self._next_shared()
        while at_left < len(self.lefts) or at_right < len(self.rights):
            if at_left < len(self.lefts) and at_right < len(self.rights):
                step = self.lefts[at_left]
                if step == self.rights[at_right]:
                    self._take(step)
                    at_left, at_right, expected = at_left + 1, at_right + 1, self._next_shared()
                    continue
                if step in self.right_values and expected not in (None, step):
                    at_left += 1  # it comes later, where the configuration wants it
                    continue
            if at_left < len(self.lefts):
                step = self.lefts[at_left]
                if step not in self.right_values:
                    self.out.append(self.left[at_left])
                    at_left += 1
                    continue
                if step in self.done:
                    at_left += 1
            if at_right < len(self.rights):
                step = self.rights[at_right]
                self._take(step)
                at_right += 1
                if expected == step:
                    expected = self._next_shared()
        if len(self.out) == len(self.left) and all(one is other for one, other in zip(self.out, self.left, strict=True)):
            return self.left
        return self.out

    def _next_shared(self) -> str | None:
        return self.shared.pop(0) if self.shared else None

    def _take(self, step: str) -> None:
        self.done.add(step)
        self.out.append(merge(self.left_values.get(step, ABSENT), self.right_values[step], self.list.element))


def _indexed(items: list[Json], list_: ListType, *, duplicates: bool) -> tuple[list[str], dict[str, Json]]:
    """The steps in order, and the value of each; of what stands twice the value is null, so that nothing is merged with it."""
    steps: list[str] = []
    values: dict[str, Json] = {}
    errors: list[tuple[str, str]] = []
    for index, item in enumerate(items):
        try:
            step = item_step(list_, item)
        except ItemError as error:
            errors.append(("", f"element {index}: {error}"))
            continue
        if step in values and not duplicates:
            errors.append(("", f"duplicate entries for key {paths.server_text([paths.from_fields_v1(step) or step])}"))
            continue
        values[step] = None if step in values else item
        steps.append(step)
    if errors:
        raise TypedErrors(errors)
    return steps, values

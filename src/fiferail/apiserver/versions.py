"""The order of API versions: v2 before v1 before v1beta2 before v1beta1 before v1alpha1 before anything else by name."""

from __future__ import annotations

import re

_SHAPE = re.compile(r"v([1-9][0-9]*)(?:(alpha|beta)([1-9][0-9]*))?")
_STAGES = {"alpha": 0, "beta": 1, None: 2}


def priority(name: str) -> tuple[int, int, int, int, tuple[int, ...]]:
    """A key that sorts the preferred version last."""
    match = _SHAPE.fullmatch(name)
    if not match:
        # Names outside the pattern come last, in the order of the alphabet.
        return (0, 0, 0, 0, tuple(-ord(char) for char in name))
    major, stage, minor = match.groups()
    return (1, _STAGES[stage], int(major), int(minor or 0), ())

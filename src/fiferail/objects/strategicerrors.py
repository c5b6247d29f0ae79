"""What can be wrong with a strategic merge patch, in the server's words. Called by `strategic` and `strategiclists`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from . import gotext

if TYPE_CHECKING:
    from .tree import Json

BAD_DELETE_LIST = "invalid patch format of primitive list"
BAD_RETAIN_KEYS = "invalid patch format of retainKeys"
BAD_SET_ORDER = "invalid patch format of setElementOrder list"
REJECTED = "the server rejected our request due to an error in our request"


class PatchError(Exception):
    """The patch is refused: `.code` and `.message` of the answer. A 500 has no reason in its Status."""

    def __init__(self, code: int, message: str, *, panics: bool = False) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        #: The real server closes the connection without an answer.
        self.panics = panics


def failed(message: str) -> PatchError:
    """An error that the server did not foresee, and so answers with 500."""
    return PatchError(500, message)


def panic(why: str) -> PatchError:
    """Something that crashes the request in the real server."""
    return PatchError(500, f"the real server closes the connection here: {why}", panics=True)


def lists_of_lists() -> PatchError:
    """Lists of lists cannot be merged."""
    return PatchError(422, REJECTED)


def no_merge_key(entry: Json, key: str) -> PatchError:
    """An entry lacks the member that tells it from the others."""
    return failed(f"map: {gotext.plain(entry)} does not contain declared merge key: {key}")


def bad_argument(expected: Json, got: Json) -> PatchError:
    """One type was due, another came."""
    received = "%!s(<nil>)" if got is None else gotext.type_name(got)
    return failed(f"expected a {gotext.type_name(expected)}, but received a {received}")


def bad_patch_type(directive: Json, entry: Json) -> PatchError:
    """A $patch that is none of those there are."""
    return failed(f"unknown patch type: {gotext.as_string(directive)} in map: {gotext.plain(entry)}")

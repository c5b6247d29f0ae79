"""How the auditor touches the file system: bounded reads of regular files, and writes that happen whole or not at all.

Called by `sources`, `config`, `baseline`, `cache`, `fixes` and the command line. The audited tree is not trusted: a device, a FIFO or a
link out of the tree is refused with a reason, and no file is read beyond its limit. Nothing here waits for another process.
"""

from __future__ import annotations

import contextlib
import os
import stat
import tempfile

_FLAGS = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)


class Unreadable(Exception):
    """A file that is not read; the text says why, without the file's name."""


class Unwritable(Exception):
    """A file that is not written, and is unchanged; the text says why, without the file's name."""


def read(path: str, limit: int) -> bytes:
    """The bytes of a regular file.

    Raises `Unreadable` for anything else: a directory, a device, a FIFO, more than `limit` bytes, or an error of the system.
    The file is opened without blocking and judged by its descriptor, so that it cannot be swapped in between.
    """
    try:
        descriptor = os.open(path, _FLAGS)
    except (OSError, ValueError) as problem:
        raise Unreadable(f"cannot be read: {reason(problem)}") from problem
    try:
        known = os.fstat(descriptor)
        if not stat.S_ISREG(known.st_mode):
            raise Unreadable(f"is {_kind(known.st_mode)}, not a regular file")
        with open(descriptor, "rb", closefd=False) as handle:
            data = handle.read(limit + 1)
    except OSError as problem:
        raise Unreadable(f"cannot be read: {reason(problem)}") from problem
    finally:
        os.close(descriptor)
    if len(data) > limit:
        size = max(known.st_size, len(data))
        raise Unreadable(f"{size // 1_000_000} MB, over the limit of {limit // 1_000_000} MB")
    return data


def inside(path: str, tops: list[str]) -> bool:
    """Whether a path, with its links followed, is one of the given real directories or files, or below one."""
    real = os.path.realpath(path)
    return any(real == top or real.startswith(top.rstrip(os.sep) + os.sep) for top in tops)


def write(path: str, data: bytes) -> None:
    """Replace the content of a file in one step, keeping its mode and owner; a device or a FIFO is written to as it is.

    Raises `Unwritable`; the file then has its old content.
    """
    target = os.path.realpath(path)
    try:
        known = _status(target)
        if known is not None and not os.access(target, os.W_OK):
            raise Unwritable("cannot be written: Permission denied")
        if known is not None and not stat.S_ISREG(known.st_mode):
            with open(target, "wb") as handle:
                handle.write(data)
            return
        _replace(target, data, known)
    except (OSError, ValueError) as problem:
        raise Unwritable(f"cannot be written: {reason(problem)}") from problem


def reason(problem: Exception) -> str:
    """The system's words for an error, without the file's name."""
    return (problem.strerror if isinstance(problem, OSError) else None) or str(problem) or type(problem).__name__


def _status(path: str) -> os.stat_result | None:
    try:
        return os.stat(path)
    except FileNotFoundError:
        return None


def _replace(target: str, data: bytes, known: os.stat_result | None) -> None:
    descriptor, temporary = tempfile.mkstemp(dir=os.path.dirname(target), prefix=".fiferail-")
    try:
        with os.fdopen(descriptor, "wb") as handle:
            handle.write(data)
            handle.flush()
            os.fsync(handle.fileno())
        os.chmod(temporary, stat.S_IMODE(known.st_mode) if known is not None else 0o666 & ~_mask())
        if known is not None and hasattr(os, "chown"):
            with contextlib.suppress(OSError):
                os.chown(temporary, known.st_uid, known.st_gid)
                # A change of owner may clear the set-user-id bits.
                os.chmod(temporary, stat.S_IMODE(known.st_mode))
        os.replace(temporary, target)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise


def _mask() -> int:
    """The process's umask, which can only be read by setting it."""
    mask = os.umask(0o077)
    os.umask(mask)
    return mask


def _kind(mode: int) -> str:
    kinds = (
        (stat.S_ISDIR, "a directory"),
        (stat.S_ISFIFO, "a FIFO"),
        (stat.S_ISSOCK, "a socket"),
        (stat.S_ISCHR, "a device"),
        (stat.S_ISBLK, "a device"),
    )
    return next((words for test, words in kinds if test(mode)), "something else")

"""fiferail's operator that says, when it ends, how long after each change it began to reconcile. It writes nothing."""

from __future__ import annotations

import os
import sys
import time

import msgspec

from fiferail import Context, Controller, Manager

#: What a changed object carries in its text: when the change was sent, by the clock that all processes share.
MARK = "sent at "
waits: list[float] = []


async def reconcile(ctx: Context) -> None:
    """Note how long ago the change was sent."""
    text = ctx.snapshot["spec"]["text"]
    if text.startswith(MARK):
        waits.append(time.monotonic() - float(text.removeprefix(MARK)))


if __name__ == "__main__":
    Manager(Controller("example.io/v1", "Gadget", reconcile, concurrency=int(os.environ["CONCURRENCY"]))).run()
    sys.stdout.buffer.write(msgspec.json.encode(waits))

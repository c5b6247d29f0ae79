"""kmock's Kubernetes emulator as a process of its own, for comparison: prints its URL and serves until it is ended."""

from __future__ import annotations

import asyncio

import kmock


async def main() -> None:
    """Serve gadgets."""
    emulator = kmock.KubernetesEmulator()
    verbs = {"get", "list", "watch", "create", "update", "patch", "delete"}
    info = kmock.ResourceInfo(kind="Gadget", singular="gadget", namespaced=True, verbs=verbs, subresources={"status"})
    emulator.resources["example.io/v1/gadgets"] = info
    server = kmock.Server(emulator)
    async with emulator, server:
        print(server.url, flush=True)
        await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main())

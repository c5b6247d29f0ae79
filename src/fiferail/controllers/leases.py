"""Leader election: of several replicas one works, by a Lease that it renews.

The rules are client-go's: whoever holds the lease renews it every `retry` seconds; when it has not managed to for `renew_deadline`
seconds it stops working, well before others may take over after `lease` seconds. Others measure with their own clock how long the
record has not changed, and never compare wall clocks: machines whose clocks are hours apart elect just as well.

It keeps two replicas from doing the same work twice. It is no lock: a replica that was stopped for a minute may finish a request
after another has taken over. That nothing is lost then is the writer's doing, not the lease's.
"""

from __future__ import annotations

import asyncio
import logging
import socket
import uuid
from typing import TYPE_CHECKING

from ..errors import ApiError, FiferailError, NotFound
from .clock import micro

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from ..clients.client import AsyncClient
    from ..objects.tree import Json
    from .clock import Clock

log = logging.getLogger("fiferail.controllers")


class LeaderElection:
    """`Manager(..., leader_election=LeaderElection("my-operator", namespace="my-operator"))`."""

    def __init__(
        self,
        name: str,
        namespace: str = "default",
        identity: str | None = None,
        *,
        lease: float = 15.0,
        renew_deadline: float = 10.0,
        retry: float = 2.0,
    ) -> None:
        if not name:
            raise FiferailError("expected a name for the lease, got none")
        if not lease > renew_deadline > retry > 0:
            raise FiferailError(f"expected lease > renew_deadline > retry > 0 seconds, got {lease:g}, {renew_deadline:g} and {retry:g}")
        self.name, self.namespace = name, namespace
        self.identity = identity or f"{socket.gethostname()}_{uuid.uuid4()}"
        self._lease, self._deadline, self._retry = lease, renew_deadline, retry
        self.leads = False
        #: The lease as last seen, and our own time when it was first seen like that.
        self._seen: Json | None = None
        self._seen_at = 0.0

    async def lead(
        self, client: AsyncClient, work: Callable[[], Awaitable[None]], clock: Clock, tell: Callable[[bool], None] = lambda leads: None
    ) -> None:
        """Work while leading, again each time that leadership is won back; returns when the work is done, and gives the lease up."""
        while True:
            await self._acquire(client, clock)
            self._now_leads(True, tell)
            try:
                done = await self._hold(client, work, clock)
            finally:
                self._now_leads(False, tell)
            if done:
                await self._release(client, clock)
                return
            log.error("%s lost the lease %s/%s and stops working until it is won back", self.identity, self.namespace, self.name)

    def _now_leads(self, leads: bool, tell: Callable[[bool], None]) -> None:
        self.leads = leads
        tell(leads)

    async def _hold(self, client: AsyncClient, work: Callable[[], Awaitable[None]], clock: Clock) -> bool:
        """Work and renew. True when the work ended, False when the lease was lost, and then nothing works any more."""
        working, renewing = asyncio.ensure_future(work()), asyncio.ensure_future(self._renew(client, clock))
        try:
            await asyncio.wait([working, renewing], return_when=asyncio.FIRST_COMPLETED)
            if working.done():
                await working
                return True
            await renewing
            return False
        finally:
            for task in (working, renewing):
                task.cancel()
            await asyncio.gather(working, renewing, return_exceptions=True)

    async def _acquire(self, client: AsyncClient, clock: Clock) -> None:
        waiting_for = ""
        while not await self._try(client, clock):
            holder = self._holder()
            if holder != waiting_for:
                log.info("waiting for the lease %s/%s, held by %s", self.namespace, self.name, holder or "nobody")
                waiting_for = holder
            await clock.sleep(self._retry)
        log.info("%s holds the lease %s/%s", self.identity, self.namespace, self.name)

    async def _renew(self, client: AsyncClient, clock: Clock) -> None:
        """Until the lease could not be renewed in time. Counted from before each request: a slow answer does not prolong anything."""
        renewed = clock.now()
        while True:
            await clock.sleep(min(self._retry, max(0.0, renewed + self._deadline - clock.now())))
            began = clock.now()
            left = renewed + self._deadline - began
            if left <= 0:
                return
            try:
                async with clock.timeout(left):
                    if await self._try(client, clock):
                        renewed = began
                    elif self._holder() not in ("", self.identity):
                        return
            except TimeoutError:
                return

    async def _try(self, client: AsyncClient, clock: Clock) -> bool:
        """Take the lease, or renew it. False when it is another's, or the server could not be asked."""
        try:
            self._saw(await self._get(client), clock)
            if self._is_held_by_another(clock):
                return False
            record = self._record(clock.today(), self.identity)
            stored = await (client.create(record) if self._seen is None else client.replace(record))
        except ApiError as error:
            if error.code not in (409, 404):
                log.warning("the lease %s/%s could not be written: %s", self.namespace, self.name, error)
            return False
        except Exception as error:
            log.warning("the lease %s/%s could not be asked for: %r", self.namespace, self.name, error)
            return False
        self._saw(stored, clock)
        return True

    async def _get(self, client: AsyncClient) -> Json | None:
        try:
            return await client.get("coordination.k8s.io/v1", "Lease", self.name, self.namespace)
        except NotFound:
            return None

    def _saw(self, lease: Json | None, clock: Clock) -> None:
        if lease is None or self._seen is None or lease["metadata"]["resourceVersion"] != self._seen["metadata"]["resourceVersion"]:
            self._seen, self._seen_at = lease, clock.now()

    def _is_held_by_another(self, clock: Clock) -> bool:
        if self._seen is None or self._holder() in ("", self.identity):
            return False
        seconds: float = self._seen["spec"].get("leaseDurationSeconds") or self._lease
        return clock.now() < self._seen_at + seconds

    def _holder(self) -> str:
        holder: str = ((self._seen or {}).get("spec") or {}).get("holderIdentity") or ""
        return holder

    def _record(self, today: float, holder: str) -> Json:
        spec = (self._seen or {}).get("spec") or {}
        taken = self._holder() != holder
        spec = {
            **spec, "holderIdentity": holder, "leaseDurationSeconds": max(1, round(self._lease)) if holder else 1,
            "renewTime": micro(today),
            "acquireTime": micro(today) if taken else spec.get("acquireTime") or micro(today),
            "leaseTransitions": spec.get("leaseTransitions", 0) + (1 if taken and holder and self._seen is not None else 0),
        }  # fmt: skip
        metadata = self._seen["metadata"] if self._seen is not None else {"name": self.name, "namespace": self.namespace}
        return {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": metadata, "spec": spec}

    async def _release(self, client: AsyncClient, clock: Clock) -> None:
        """Give it up, so that the next need not wait. When that fails it runs out by itself."""
        if self._seen is None or self._holder() != self.identity:
            return
        try:
            async with clock.timeout(self._retry):
                await client.replace(self._record(clock.today(), ""))
        except Exception as error:
            log.info("the lease %s/%s could not be given up, it runs out by itself: %r", self.namespace, self.name, error)

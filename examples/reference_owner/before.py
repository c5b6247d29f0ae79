"""How this operator was first written: the workloads append themselves to the config's list, and the config's owner patches it too.

Every write is answered with 200, and yet entries are lost: the owner's merge patch carries the whole list as it was when it read the
config. And nothing ever removes the entry of a workload that changed its mind. Kept because a test shows both; do not copy it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fiferail.errors import ApiError

if TYPE_CHECKING:
    from fiferail import Client

API = "auth.example.io/v1"


class Workload:
    """A workload's reconcile, in its two steps: read the config, write the entry."""

    def __init__(self, client: Client, kind: str, name: str, config: str) -> None:
        self._client, self._kind, self._name, self._config = client, kind, name, config
        self._read: Any = None

    def read(self) -> None:
        """GET."""
        self._read = self._client.get(API, "AuthConfig", self._config, "default")

    def append(self) -> bool:
        """PUT of the whole status with one more entry. A conflict was logged, and that was that: the next event would bring it back."""
        status = self._read.get("status") or {}
        entries = [*status.get("referencingWorkloads", []), {"kind": self._kind, "name": self._name}]
        try:
            self._client.replace({**self._read, "status": {**status, "referencingWorkloads": entries}}, subresource="status")
        except ApiError as error:
            if error.code != 409:
                raise
            return False
        return True


class Owner:
    """The config's own reconcile, in its two steps."""

    def __init__(self, client: Client, config: str) -> None:
        self._client, self._config = client, config
        self._read: Any = None

    def read(self) -> None:
        """GET."""
        self._read = self._client.get(API, "AuthConfig", self._config, "default")

    def patch(self, found: list[dict[str, str]]) -> None:
        """A merge patch of the list that it computed from the workloads it had seen. Nothing in it says what it was computed from."""
        self._client.patch(self._read, {"status": {"referencingWorkloads": found}}, subresource="status")

"""What users import in tests: the types behind the fixture `apiserver`.

    from fiferail.testing import ApiServer

    def test_gadget(apiserver: ApiServer) -> None: ...

`ApiServer` is the fixture, `Faults` its `faults`, `Fault` what `faults.next` returns, `Held` what `hold` returns, and `Seen` one of its
`requests`. pytest loads the plugin of this package in every session, so nothing is imported before a name is used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fiferail.apiserver.faults import Fault, Faults
    from fiferail.apiserver.real.proxy import Seen
    from fiferail.testing.held import Held
    from fiferail.testing.server import ApiServer

_HOME = {
    "ApiServer": "fiferail.testing.server",
    "Fault": "fiferail.apiserver.faults",
    "Faults": "fiferail.apiserver.faults",
    "Held": "fiferail.testing.held",
    "Seen": "fiferail.apiserver.real.proxy",
}

__all__ = ["ApiServer", "Fault", "Faults", "Held", "Seen"]


if not TYPE_CHECKING:  # a type checker sees the names above, and reports any other

    def __getattr__(name: str) -> Any:
        home = _HOME.get(name)
        if home is None:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from importlib import import_module

        return getattr(import_module(home), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])

"""Which adapter carries for a client object. Decided by where the object's class lives, so that nothing is imported to find out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..errors import FiferailError

if TYPE_CHECKING:
    from ..wire import AsyncTransport, Transport

#: The flag of a coroutine function in its code object.
_COROUTINE = 0x80
SUPPORTED = "kubernetes, kubernetes_asyncio, lightkube, kr8s, fiferail.Client or a Transport"


def transport_of(client: Any) -> Transport:
    """A blocking transport over the client."""
    transport = _adapter(client)
    if _is_async(transport.send):
        raise FiferailError(f"{_named(client)} is an async client: use AsyncStatusWriter or AsyncClient with it")
    return transport  # type: ignore[no-any-return]


def async_transport_of(client: Any) -> AsyncTransport:
    """An async transport over the client."""
    transport = _adapter(client)
    if not _is_async(transport.send):
        raise FiferailError(f"{_named(client)} is a blocking client: use StatusWriter or Client with it")
    return transport  # type: ignore[no-any-return]


def _adapter(client: Any) -> Any:
    if client is None:
        raise FiferailError(f"expected a Kubernetes client, got None: pass one of {SUPPORTED}")
    inner = getattr(client, "transport", None)  # our own Client and AsyncClient, and whatever shows one
    if inner is not None and hasattr(inner, "send"):
        return inner
    module = type(client).__module__
    if hasattr(client, "rest_client") or hasattr(getattr(client, "api_client", None), "rest_client"):
        return _generated(client if hasattr(client, "rest_client") else client.api_client)
    if module.startswith("lightkube."):
        from . import lightkube

        return lightkube.async_transport(client) if "async" in type(client).__name__.lower() else lightkube.sync_transport(client)
    if module == "kr8s" or module.startswith("kr8s."):
        from .kr8s import Kr8sAsyncTransport, Kr8sTransport

        return Kr8sAsyncTransport(client) if getattr(client, "_asyncio", True) else Kr8sTransport(client)
    if hasattr(client, "send") and hasattr(client, "stream") and "request" in _parameters(client.send):
        return client
    inner = getattr(client, "client", None)  # kubernetes.dynamic.DynamicClient
    if inner is not None and hasattr(inner, "rest_client"):
        return _generated(inner)
    raise FiferailError(f"expected a Kubernetes client ({SUPPORTED}), got {_named(client)}")


def _generated(api: Any) -> Any:
    if _is_async(type(api).close) or "asyncio" in type(api).__module__ or ".aio" in type(api).__module__:
        from .kubernetes_async import KubernetesAsyncTransport

        return KubernetesAsyncTransport(api)
    from .kubernetes import KubernetesTransport

    return KubernetesTransport(api)


def _named(client: Any) -> str:
    return f"{type(client).__module__}.{type(client).__qualname__}"


def _is_async(function: Any) -> bool:
    """Whether calling it gives a coroutine. `inspect` would tell, and takes longer to import than all of this package."""
    code = getattr(function, "__code__", None)
    return code is not None and bool(code.co_flags & _COROUTINE)


def _parameters(function: Any) -> tuple[str, ...]:
    code = getattr(function, "__code__", None)
    return code.co_varnames[: code.co_argcount] if code is not None else ()

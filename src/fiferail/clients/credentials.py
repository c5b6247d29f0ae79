"""What a request carries to say who we are: tokens, token files, passwords, credential plugins, and whom to impersonate.

A transport asks for `headers` before each request and says `rejected` after a 401; then it asks again and sends once more when the
headers have changed. A 401 is an answer of authentication: the request was not carried out, so sending it again is safe.
No error here quotes a credential.
"""

from __future__ import annotations

import base64
import logging
import time
from typing import TYPE_CHECKING

from ..errors import FiferailError

if TYPE_CHECKING:
    from pathlib import Path

    from .execplugin import Plugin
    from .kubefile import User

log = logging.getLogger("fiferail.clients")

#: Names and values; a name may come more than once.
Headers = list[tuple[str, str]]

REREAD_AFTER = 60.0
#: The characters of a header's name (RFC 9110, section 5.6.2), but for `%`, which escapes the others.
_NAME = frozenset("!#$&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")


class Credentials:
    """No credential but the fixed headers; the base of the others."""

    def __init__(self, fixed: Headers | None = None) -> None:
        self.fixed = fixed or []

    def headers(self) -> Headers:
        """Return the headers of the next request. May block."""
        return self.fixed

    async def headers_async(self) -> Headers:
        """Return the same without blocking the event loop."""
        return self.headers()

    def rejected(self, headers: Headers) -> bool:
        """Note that the server answered 401 to these headers; return whether others can be had."""
        return False

    def renewed(self, refused: Headers) -> Headers | None:
        """Return new headers after a 401, or None when there are none. A plugin that fails then is logged: the 401 stands."""
        if not self.rejected(refused):
            return None
        try:
            fresh = self.headers()
        except FiferailError as error:
            log.warning("the server answered 401, and there is no new credential: %s", error)
            return None
        return fresh if fresh != refused else None

    async def renewed_async(self, refused: Headers) -> Headers | None:
        """Return the same without blocking the event loop."""
        if not self.rejected(refused):
            return None
        try:
            fresh = await self.headers_async()
        except FiferailError as error:
            log.warning("the server answered 401, and there is no new credential: %s", error)
            return None
        return fresh if fresh != refused else None


class TokenFile(Credentials):
    """A bearer token in a file, read again as it rotates. A file that cannot be read again leaves the last token in use."""

    def __init__(self, file: Path, fixed: Headers | None = None, token: str = "") -> None:
        super().__init__(fixed)
        self._file = file
        self._token = token
        self._until = 0.0

    def headers(self) -> Headers:
        """Read the file if it has not been read for a minute."""
        now = time.monotonic()
        if now >= self._until:
            self._reread()
            self._until = now + REREAD_AFTER
        return [*bearer(self._token, f"the token in {self._file}"), *self.fixed]

    def rejected(self, headers: Headers) -> bool:
        """Read the file for the next request."""
        self._until = 0.0
        return True

    def _reread(self) -> None:
        try:
            token = self._file.read_text().strip()
        except (OSError, UnicodeDecodeError) as error:
            reason = getattr(error, "strerror", None) or "it is not UTF-8"
            if not self._token:
                raise FiferailError(f"cannot read the token file {self._file}: {reason}") from None
            log.warning("cannot read the token file %s again: %s", self._file, reason)
            return
        if token:
            self._token = token
        elif not self._token:
            raise FiferailError(f"the token file {self._file} is empty")


class FromPlugin(Credentials):
    """A bearer token of a credential plugin, which runs when there is no token, when it has expired, and after a 401."""

    def __init__(self, plugin: Plugin, fixed: Headers | None = None) -> None:
        super().__init__(fixed)
        self._plugin = plugin

    def headers(self) -> Headers:
        """Run the plugin if need be."""
        return self._with(self._plugin.token())

    async def headers_async(self) -> Headers:
        """Run the plugin as a subprocess of the event loop if need be."""
        return self._with(await self._plugin.token_async())

    def rejected(self, headers: Headers) -> bool:
        """Forget the token, unless another request has renewed it already."""
        if self._plugin.cached is not None and self._with(self._plugin.cached) == headers:
            self._plugin.forget()
        return True

    def _with(self, token: str) -> Headers:
        return [*bearer(token, f"the token of {self._plugin}"), *self.fixed]


def credentials_of(user: User, name: str, folder: Path, plugin: Plugin | None) -> Credentials:
    """Return the credentials of a kubeconfig's user, in client-go's order: a token or password before a plugin."""
    _check(user, name)
    fixed = _impersonation(user, name)
    if user.token_file:
        return TokenFile(folder / user.token_file, fixed, user.token or "")
    if user.token:
        return Credentials([*bearer(user.token, f"the token of user {name!r}"), *fixed])
    if user.username or user.password:
        basic = base64.b64encode(f"{user.username or ''}:{user.password or ''}".encode()).decode()
        return Credentials([("authorization", f"Basic {basic}"), *fixed])
    return FromPlugin(plugin, fixed) if plugin is not None else Credentials(fixed)


def bearer(token: str, named: str) -> Headers:
    """Return the header of a bearer token; `named` stands for it in the error when it is not one."""
    if not token.isascii() or not token.isprintable():
        raise FiferailError(f"{named} has characters that do not fit in a header: line ends, control characters or non-ASCII")
    return [("authorization", f"Bearer {token}")]


def _check(user: User, name: str) -> None:
    if user.auth_provider:
        raise FiferailError(f"the user {name!r} has an auth-provider, which is not supported: use a credential plugin (exec)")
    if user.token and (user.username or user.password):
        raise FiferailError(f"the user {name!r} has a token and a username or password: only one is allowed")
    if (user.impersonate_uid or user.impersonate_groups or user.impersonate_extra) and not user.impersonate:
        raise FiferailError(f"the user {name!r} has as-uid, as-groups or as-user-extra without as: whom to impersonate is missing")


def _impersonation(user: User, name: str) -> Headers:
    if not user.impersonate:
        return []
    headers = [("impersonate-user", user.impersonate)]
    if user.impersonate_uid:
        headers.append(("impersonate-uid", user.impersonate_uid))
    headers += [("impersonate-group", group) for group in user.impersonate_groups or ()]
    for key, values in (user.impersonate_extra or {}).items():
        headers += [(f"impersonate-extra-{_escaped(key)}", value) for value in values]
    for field, value in headers:
        if not value.isascii() or not value.isprintable():
            raise FiferailError(f"the user {name!r} has a value for {field} that does not fit in a header")
    return headers


def _escaped(key: str) -> str:
    """Percent-encode what may not stand in a header's name, as client-go does."""
    return "".join(chr(byte) if chr(byte) in _NAME else f"%{byte:02X}" for byte in key.encode())

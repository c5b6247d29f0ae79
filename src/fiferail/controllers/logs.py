"""One line of JSON per log record, for operators whose logs are collected: `Manager(...).run(json_logs=True)`.

Controllers log through `logging` under `fiferail.`, with the object's kind, namespace and name as fields; who wants them otherwise
configures logging as usual.
"""

from __future__ import annotations

import logging

import msgspec

from .clock import micro

_FIELDS = ("controller", "kind", "namespace", "object")


class JsonFormatter(logging.Formatter):
    """time, level, logger, message, the object's fields, and the traceback where there is one."""

    def format(self, record: logging.LogRecord) -> str:
        """One line."""
        line = {"time": micro(record.created), "level": record.levelname.lower(), "logger": record.name, "message": record.getMessage()}
        line.update({name: getattr(record, name) for name in _FIELDS if getattr(record, name, "")})
        if record.exc_info:
            line["error"] = self.formatException(record.exc_info)
        return msgspec.json.encode(line).decode()


def configure(*, as_json: bool) -> None:
    """Show what is logged, unless the program has said how already."""
    if logging.getLogger().handlers:
        return
    handler = logging.StreamHandler()
    handler.setFormatter(JsonFormatter() if as_json else logging.Formatter("%(asctime)s %(levelname)s %(message)s"))
    logging.basicConfig(level=logging.INFO, handlers=[handler])
    logging.getLogger("httpx2").setLevel(logging.WARNING)

"""Structured logs, one event per line: a constant message and fields. Owns the set-up of structlog
and of the standard library's logging behind it, so that every line looks alike and none holds a
secret; knows nothing of what is logged."""

from __future__ import annotations

import json
import logging
import sys
from typing import Any, TextIO

import msgspec
import structlog
from structlog.types import EventDict, Processor

from fairlead.runtime.redact import redact

_encode = msgspec.json.Encoder(enc_hook=str, decimal_format="number").encode
_NOISY = {"aiohttp.access": logging.WARNING, "asyncio": logging.WARNING}


def configure_logging(
    *, level: str = "info", format: str = "auto", stream: TextIO | None = None
) -> None:
    """Sets up the whole process. `format` is `json`, `console`, or `auto`: console on a
    terminal. May be called again, also while loggers exist already."""
    stream = stream or sys.stderr
    console = format == "console" or (format == "auto" and stream.isatty())
    number = logging.getLevelNamesMapping()[level.upper()]
    shared = _shared()
    structlog.configure(
        processors=[*shared, structlog.stdlib.ProcessorFormatter.wrap_for_formatter],
        wrapper_class=structlog.make_filtering_bound_logger(number),
        logger_factory=structlog.stdlib.LoggerFactory(),
        cache_logger_on_first_use=False,
    )
    handler = logging.StreamHandler(stream)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=[structlog.stdlib.ExtraAdder(), *shared],
            processors=[
                structlog.stdlib.ProcessorFormatter.remove_processors_meta,
                structlog.processors.format_exc_info,
                redact,
                _console(stream) if console else _json,
            ],
        )
    )
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(number)
    for name, quietest in _NOISY.items():
        logging.getLogger(name).setLevel(max(quietest, number))


def _shared() -> list[Processor]:
    return [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_log_level,
        structlog.stdlib.add_logger_name,
        structlog.stdlib.PositionalArgumentsFormatter(),
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        structlog.processors.StackInfoRenderer(),
    ]


def _console(stream: TextIO) -> Processor:
    return structlog.dev.ConsoleRenderer(
        colors=stream.isatty(), exception_formatter=structlog.dev.plain_traceback
    )


def _json(logger: Any, method: str, event: EventDict) -> str:
    """Message first, so that a line can be read by eye as well."""
    ordered = {"time": event.pop("timestamp", None), "level": event.pop("level", None)}
    ordered["message"] = event.pop("event", "")
    if "exception" in event:
        ordered["traceback"] = event.pop("exception")
    line = {**ordered, **event}
    try:
        return _encode(line).decode()
    except (TypeError, ValueError, OverflowError):
        # Half a character, a huge number, an odd key: rather an ugly line than none.
        return json.dumps(line, default=str, skipkeys=True)

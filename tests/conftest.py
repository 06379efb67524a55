"""What every test may ask for, and what none may leave behind."""

from __future__ import annotations

import logging
from collections.abc import Iterator

import pytest
import structlog

pytest_plugins = ["tests.real.fixtures"]


@pytest.fixture(autouse=True)
def _logging_as_it_was() -> Iterator[None]:
    """Commands set up logging for their whole process, which here is everybody's."""
    root = logging.getLogger()
    handlers, level = list(root.handlers), root.level
    configuration = structlog.get_config()
    yield
    structlog.configure(**configuration)
    root.handlers[:] = handlers
    root.setLevel(level)

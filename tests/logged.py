"""What is logged while a test looks, whatever level a test before has configured."""

import logging
from collections.abc import Generator
from contextlib import contextmanager

import structlog
from structlog.testing import capture_logs
from structlog.typing import EventDict


@contextmanager
def logged() -> Generator[list[EventDict]]:
    before = structlog.get_config()["wrapper_class"]
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.DEBUG))
    try:
        with capture_logs() as lines:
            yield lines
    finally:
        structlog.configure(wrapper_class=before)

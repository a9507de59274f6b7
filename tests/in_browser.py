"""A page of ours in Chromium: the server in a thread, and the browser without a window."""

import shutil
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import uvicorn

from pipeline.core.local_page import address, listen

_CHROMIUM = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
)
_FLAGS = ("--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking",
          "--disable-component-update", "--disable-sync")  # fmt: skip

needs_chromium = pytest.mark.skipif(_CHROMIUM is None, reason="no Chromium on this machine")


@contextmanager
def served(app: Any, token: str) -> Iterator[str]:
    """The address of a page that a thread serves, as ``serve`` does."""
    listener = listen(0)
    server = uvicorn.Server(uvicorn.Config(app, log_level="error", lifespan="off"))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
    thread.start()
    yield address(listener, token)
    server.should_exit = True
    thread.join(10)


@contextmanager
def chromium(playwright: Any) -> Iterator[Any]:
    """The browser; ``playwright`` is its module ``sync_api``."""
    with playwright.sync_playwright() as started:
        browser = started.chromium.launch(executable_path=_CHROMIUM, args=list(_FLAGS))
        yield browser
        browser.close()

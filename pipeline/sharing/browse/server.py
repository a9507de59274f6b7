"""The page of ``browse``: served with its files by ``core.local_page``, or written as one file."""

import base64
import hashlib
import json
import socket
from collections.abc import Mapping, Sequence
from typing import Annotated, Any
from urllib.parse import urlencode

from fastapi import FastAPI, Query
from fastapi.responses import HTMLResponse
from markupsafe import Markup

from pipeline.core.local_page import STYLE, TOKEN, asset, local_app, rendered
from pipeline.core.local_page import serve as serve_page
from pipeline.sharing.browse.corpus import BrowsedCorpus
from pipeline.sharing.browse.table import View

_COMMAND = "browse"

ASSETS = {
    "browse.css": "text/css",
    "rules.js": "text/javascript",
    "rows.js": "text/javascript",
    "charts.js": "text/javascript",
    "app.js": "text/javascript",
}
"""The page's own files and their media types; scripts in the order in which they are run."""


def served_page(title: str, token: str) -> str:
    """The page that asks its server for data; ``token`` is in the addresses of its files."""
    scripts = [name for name in ASSETS if name.endswith(".js")]
    asked = urlencode({TOKEN: token})
    return rendered(_COMMAND, title=title, style=None, scripts=scripts, asked=asked)


def export_page(about: Mapping[str, Any], rows: Sequence[Mapping[str, Any]]) -> str:
    """The page with its data in it; it opens no connection, and its policy forbids it to.

    Args:
        about: what ``corpus.describe`` says.
        rows: what the page shows, in order.
    """
    style = asset(_COMMAND, STYLE) + asset(_COMMAND, "browse.css")
    script = "\n".join(asset(_COMMAND, name) for name in ASSETS if name.endswith(".js"))
    policy = (
        "default-src 'none'; base-uri 'none'; form-action 'none'; img-src data:; "
        f"style-src {_hash(style)}; script-src {_hash(script)}"
    )
    # In a script element only "<" could end the data, or begin a comment.
    data = json.dumps({"about": about, "rows": rows}, ensure_ascii=False, allow_nan=False)
    return rendered(
        _COMMAND,
        title=str(about["name"]),
        style=Markup(style),  # noqa: S704 - our own file
        scripts=[],
        script=Markup(script),  # noqa: S704 - our own files
        policy=policy,
        data=Markup(data.replace("<", "\\u003c")),  # noqa: S704 - no markup can begin in it
    )


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def make_app(corpus: BrowsedCorpus, token: str) -> FastAPI:
    """The application: the page, its files, ``/api/corpus``, ``/api/view`` and ``/api/select``.

    Args:
        corpus: what is shown.
        token: the text that every request must bring.
    """
    app = local_app(_COMMAND, token, ASSETS)
    page = served_page(str(corpus.about["name"]), token)

    @app.get("/", response_class=HTMLResponse)
    def index() -> str:
        return page

    @app.get("/api/corpus")
    def about() -> dict[str, Any]:
        return dict(corpus.about)

    @app.get("/api/view")
    def view(asked: Annotated[View, Query()]) -> dict[str, Any]:
        return corpus.answer(asked)

    @app.get("/api/select")
    def select(asked: Annotated[View, Query()]) -> dict[str, str | None]:
        return corpus.selection(asked)

    return app


def serve(corpus: BrowsedCorpus, listener: socket.socket, token: str) -> None:
    """Serve until Ctrl-C, which ends it without a traceback."""
    serve_page(make_app(corpus, token), listener)

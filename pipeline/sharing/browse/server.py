"""The page's server: on the loopback interface, for the browser of whoever started it and no other site.

A page elsewhere could have its name resolve to 127.0.0.1 and read the corpus from a visitor's
machine; requests for any other host than this one are therefore refused. So are those without the
token that stands in the page's own address: other users of the machine reach the port, too. It is in the
address and in no cookie, which a browser would send to every port. The page is served with files
beside it, or written as one file with all that it needs.
"""

import base64
import hashlib
import hmac
import json
import socket
from collections.abc import Mapping, Sequence
from importlib.resources import files
from typing import Annotated, Any
from urllib.parse import parse_qsl, urlencode

import uvicorn
from fastapi import FastAPI, HTTPException, Query, Request, Response
from fastapi.middleware.trustedhost import TrustedHostMiddleware
from fastapi.responses import HTMLResponse, PlainTextResponse
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from pipeline.core.errors import InputError
from pipeline.sharing.browse.corpus import BrowsedCorpus
from pipeline.sharing.browse.table import View

ASSETS = {
    "browse.css": "text/css",
    "rules.js": "text/javascript",
    "rows.js": "text/javascript",
    "charts.js": "text/javascript",
    "app.js": "text/javascript",
}
"""The page's own files and their media types; scripts in the order in which they are run."""


def asset(name: str) -> str:
    """The text of one of ``ASSETS``."""
    return (files("pipeline") / "resources" / "browse" / name).read_text(encoding="utf-8")


def served_page(title: str, token: str) -> str:
    """The page that asks its server for data; ``token`` is in the addresses of its files."""
    scripts = [name for name in ASSETS if name.endswith(".js")]
    return _render(title=title, style=None, scripts=scripts, asked=urlencode({TOKEN: token}))


def export_page(about: Mapping[str, Any], rows: Sequence[Mapping[str, Any]]) -> str:
    """The page with its data in it; it opens no connection, and its policy forbids it to.

    Args:
        about: what ``corpus.describe`` says.
        rows: what the page shows, in order.
    """
    style = asset("browse.css")
    script = "\n".join(asset(name) for name in ASSETS if name.endswith(".js"))
    policy = (
        "default-src 'none'; base-uri 'none'; form-action 'none'; img-src data:; "
        f"style-src {_hash(style)}; script-src {_hash(script)}"
    )
    # In a script element only "<" could end the data, or begin a comment.
    data = json.dumps({"about": about, "rows": rows}, ensure_ascii=False, allow_nan=False)
    return _render(
        title=str(about["name"]),
        style=Markup(style),  # noqa: S704 - our own file
        scripts=[],
        script=Markup(script),  # noqa: S704 - our own files
        policy=policy,
        data=Markup(data.replace("<", "\\u003c")),  # noqa: S704 - no markup can begin in it
    )


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def _render(**context: Any) -> str:
    environment = Environment(
        loader=PackageLoader("pipeline", "resources/browse"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template("page.html.jinja").render(**context)


HOST = "127.0.0.1"
TOKEN = "token"  # noqa: S105 - the name of the parameter
"""The parameter of every request that says whose it is."""

_HEADERS = {
    "Content-Security-Policy": "default-src 'self'; img-src data:; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}


def address(listener: socket.socket, token: str) -> str:
    """Where the page is, for whom it is."""
    return f"http://{HOST}:{listener.getsockname()[1]}/?{urlencode({TOKEN: token})}"


def make_app(corpus: BrowsedCorpus, token: str) -> FastAPI:
    """The application: the page, its files, ``/api/corpus``, ``/api/view`` and ``/api/select``.

    Args:
        corpus: what is shown.
        token: the text that every request must bring.
    """
    app = FastAPI(docs_url=None, redoc_url=None, openapi_url=None)
    page = served_page(str(corpus.about["name"]), token)
    texts = {name: asset(name) for name in ASSETS}

    @app.middleware("http")
    async def guard(request: Request, follow: Any) -> Response:
        asked = parse_qsl(request.url.query, keep_blank_values=True)
        given = [value for name, value in asked if name == TOKEN]
        if len(given) == 1 and hmac.compare_digest(given[0].encode(), token.encode()):
            rest = [(name, value) for name, value in asked if name != TOKEN]
            request.scope["query_string"] = urlencode(rest).encode()
            response: Response = await follow(request)
        else:
            message = "Open the address that `conjoin browse` printed: it has a token.\n"
            response = PlainTextResponse(message, 403)
        response.headers.update(_HEADERS)
        return response

    app.add_middleware(TrustedHostMiddleware, allowed_hosts=[HOST, "localhost"], www_redirect=False)

    @app.get("/", response_class=HTMLResponse)
    def index() -> str:
        return page

    @app.get("/assets/{name}")
    def file(name: str) -> Response:
        if name not in texts:
            raise HTTPException(404)
        return Response(texts[name], media_type=ASSETS[name])

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


def listen(port: int) -> socket.socket:
    """A socket that already takes connections on ``HOST``; port 0 takes any free one.

    Raises:
        InputError: the port is in use, or may not be used by this user.
    """
    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((HOST, port))
        listener.listen(128)
    except OSError as error:
        listener.close()
        raise InputError(
            f"port {port} cannot be had: {(error.strerror or str(error)).lower()}",
            remedy="choose another with --port, or --port 0 for any free one",
        ) from error
    return listener


def serve(corpus: BrowsedCorpus, listener: socket.socket, token: str) -> None:
    """Serve until Ctrl-C, which ends it without a traceback."""
    config = uvicorn.Config(
        make_app(corpus, token), log_level="error", access_log=False, lifespan="off",
        timeout_graceful_shutdown=1, server_header=False,
    )  # fmt: skip
    try:
        uvicorn.Server(config).run(sockets=[listener])
    except KeyboardInterrupt:  # uvicorn raises it again when all is closed
        pass
    finally:
        listener.close()

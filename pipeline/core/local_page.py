"""A page on the loopback interface, for the browser of whoever started it and no other site.

A page elsewhere could have its name resolve to 127.0.0.1 and read what is shown from a visitor's
machine; requests for any other host than this one are therefore refused. So are those without the
token that stands in the page's own address: other users of the machine reach the port, too. It is in the
address and in no cookie, which a browser would send to every port.
"""

import hmac
import os
import secrets
import signal
import socket
import sys
import webbrowser
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from html import escape
from importlib.resources import files
from pathlib import Path
from tempfile import TemporaryDirectory
from types import FrameType
from typing import Any
from urllib.parse import parse_qsl, urlencode

import uvicorn
from fastapi import FastAPI, HTTPException, Request, Response
from fastapi.middleware.trustedhost import TrustedHostMiddleware
from fastapi.responses import PlainTextResponse
from jinja2 import Environment, PackageLoader, StrictUndefined

from pipeline.core.errors import InputError

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


STYLE = "page.css"
"""The style that all pages have in common, which comes before a page's own."""


def asset(command: str, name: str) -> str:
    """The text of one of the files of a command's page, or of ``STYLE``."""
    place = files("pipeline") / "resources"
    return (place / name if name == STYLE else place / command / name).read_text(encoding="utf-8")


def rendered(command: str, **context: Any) -> str:
    """A command's page."""
    environment = Environment(
        loader=PackageLoader("pipeline", f"resources/{command}"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template("page.html.jinja").render(**context)


def address(listener: socket.socket, token: str) -> str:
    """Where the page is, for whom it is."""
    return f"http://{HOST}:{listener.getsockname()[1]}/?{urlencode({TOKEN: token})}"


def local_app(command: str, token: str, assets: Mapping[str, str]) -> FastAPI:
    """An application that answers this machine's browser alone, with the files beside the page.

    Args:
        command: whose page it is.
        token: the text that every request must bring; no handler sees it.
        assets: of the page's own files the media types; they are served as ``/assets/NAME``.
    """
    app = FastAPI(docs_url=None, redoc_url=None, openapi_url=None)
    types = {STYLE: "text/css", **assets}
    texts = {name: asset(command, name) for name in types}

    @app.middleware("http")
    async def guard(request: Request, follow: Any) -> Response:
        asked = parse_qsl(request.url.query, keep_blank_values=True)
        given = [value for name, value in asked if name == TOKEN]
        if len(given) == 1 and hmac.compare_digest(given[0].encode(), token.encode()):
            rest = [(name, value) for name, value in asked if name != TOKEN]
            request.scope["query_string"] = urlencode(rest).encode()
            response: Response = await follow(request)
        else:
            message = f"Open the address that `conjoin {command}` printed: it has a token.\n"
            response = PlainTextResponse(message, 403)
        response.headers.update(_HEADERS)
        return response

    app.add_middleware(TrustedHostMiddleware, allowed_hosts=[HOST, "localhost"], www_redirect=False)

    @app.get("/assets/{name}")
    def file(name: str) -> Response:
        if name not in texts:
            raise HTTPException(404)
        return Response(texts[name], media_type=types[name])

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


@contextmanager
def listening(port: int) -> Iterator[tuple[socket.socket, str]]:
    """The socket of a page, and a new token; Ctrl-C ends what is done meanwhile without a traceback.

    Raises:
        InputError: as ``listen``.
    """
    listener = listen(port)  # before the work of reading, should it be in use
    # A stop from outside removes temporary files as Ctrl-C does.
    usual = signal.signal(signal.SIGTERM, _stop)
    try:
        yield listener, secrets.token_urlsafe()
    except KeyboardInterrupt:
        pass  # while it was reading
    finally:
        listener.close()
        signal.signal(signal.SIGTERM, usual)


def _stop(signum: int, _: FrameType | None) -> None:
    raise SystemExit(128 + signum)


def serve(app: FastAPI, listener: socket.socket) -> None:
    """Serve until Ctrl-C, which ends it without a traceback."""
    config = uvicorn.Config(
        app, log_level="error", access_log=False, lifespan="off",
        timeout_graceful_shutdown=1, server_header=False,
    )  # fmt: skip
    try:
        uvicorn.Server(config).run(sockets=[listener])
    except KeyboardInterrupt:  # uvicorn raises it again when all is closed
        pass
    finally:
        listener.close()


@contextmanager
def opened(url: str, wanted: bool) -> Iterator[None]:
    """Open the browser, if there is a display, at an address that nobody else on the machine may know.

    All users see the arguments of a process, so the browser gets the name of a file that sends it on.
    """
    if not (wanted and _has_display()):
        yield
        return
    with TemporaryDirectory(prefix="conjoin-page-") as folder:  # of this user alone
        page = Path(folder) / "page.html"
        page.write_text(f'<meta http-equiv="refresh" content="0; url={escape(url)}">\n')
        webbrowser.open(page.as_uri())
        yield


def _has_display() -> bool:
    return sys.platform in {"darwin", "win32"} or bool(
        os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")
    )

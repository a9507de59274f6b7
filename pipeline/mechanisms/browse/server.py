"""The page's server: on the loopback interface, for this machine's own browser and no other site.

A page elsewhere could have its name resolve to 127.0.0.1 and read the corpus from a visitor's
machine; requests for any other host than this one are therefore refused.
"""

import socket
from typing import Annotated, Any

import uvicorn
from fastapi import FastAPI, HTTPException, Query, Request, Response
from fastapi.middleware.trustedhost import TrustedHostMiddleware
from fastapi.responses import HTMLResponse

from pipeline.ground.errors import InputError
from pipeline.mechanisms.browse.corpus import Corpus
from pipeline.mechanisms.browse.page import ASSETS, asset, served_page
from pipeline.mechanisms.browse.view import View

__all__ = ["HOST", "listen", "make_app", "serve"]

HOST = "127.0.0.1"

_HEADERS = {
    "Content-Security-Policy": "default-src 'self'; img-src data:; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}


def make_app(corpus: Corpus) -> FastAPI:
    """The application: the page, its files, ``/api/corpus`` and ``/api/view``."""
    app = FastAPI(docs_url=None, redoc_url=None, openapi_url=None)
    page = served_page(str(corpus.about["name"]))
    texts = {name: asset(name) for name in ASSETS}

    @app.middleware("http")
    async def guard(request: Request, follow: Any) -> Response:
        response: Response = await follow(request)
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

    return app


def listen(port: int) -> socket.socket:
    """A socket that already takes connections on ``HOST``; port 0 takes any free one.

    Raises:
        InputError: the port is in use, or not for everybody.
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


def serve(corpus: Corpus, listener: socket.socket) -> None:
    """Answer until Ctrl-C, which ends this without a word."""
    config = uvicorn.Config(
        make_app(corpus), log_level="error", access_log=False, lifespan="off",
        timeout_graceful_shutdown=1, server_header=False,
    )  # fmt: skip
    try:
        uvicorn.Server(config).run(sockets=[listener])
    except KeyboardInterrupt:  # uvicorn raises it again when all is closed
        pass
    finally:
        listener.close()

"""The game's page and its server, which answers this machine's browser alone (``core.local_page``)."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any
from urllib.parse import urlencode

from fastapi import FastAPI, HTTPException, Request, Response
from fastapi.responses import HTMLResponse, JSONResponse, PlainTextResponse

from pipeline.core.errors import InputError
from pipeline.core.local_page import TOKEN, local_app, rendered
from pipeline.tasks.questions.play.cards import (
    COLUMNS,
    MOST_BYTES,
    ROWS,
    CardSet,
    Marks,
    board_from,
)
from pipeline.tasks.questions.play.feedback import verdicts
from pipeline.tasks.questions.play.score import LanguageResources

_COMMAND = "play"

ASSETS = {"play.css": "text/css", "board.js": "text/javascript", "play.js": "text/javascript"}
"""The page's own files and their media types; scripts in the order in which they are run."""


def make_app(
    sets: Sequence[CardSet], marks: Marks, resources: LanguageResources, token: str
) -> FastAPI:
    """The application: the page, its files, ``/api/set`` and ``/api/score``.

    Args:
        sets: that are played, one or more.
        marks: on the arrows.
        resources: by which boards are scored.
        token: the text that every request must bring.
    """
    app = local_app(_COMMAND, token, ASSETS)
    scripts = [name for name in ASSETS if name.endswith(".js")]
    page = rendered(_COMMAND, scripts=scripts, asked=urlencode({TOKEN: token}))

    @app.get("/", response_class=HTMLResponse)
    def index() -> str:
        return page

    @app.get("/api/set")
    def dealt(number: int = 0) -> dict[str, Any]:
        if not 0 <= number < len(sets):
            raise HTTPException(404)
        return {
            **asdict(sets[number]), "number": number, "of": len(sets),
            "cases": marks.cases, "connectives": marks.connectives, "rows": ROWS, "columns": COLUMNS,
        }  # fmt: skip

    @app.post("/api/score")
    async def score(request: Request) -> Response:
        body = b""
        async for part in request.stream():
            body += part
            if len(body) > MOST_BYTES:
                return PlainTextResponse(f"a board of over {MOST_BYTES // 1024} kB\n", 413)
        try:
            board = board_from(body.decode(), marks)
        except UnicodeDecodeError:
            return PlainTextResponse("not UTF-8 text\n", 400)
        except InputError as error:
            return PlainTextResponse(f"{error.what}\n", 400)
        return JSONResponse([asdict(each) for each in verdicts(board, marks, resources)])

    return app

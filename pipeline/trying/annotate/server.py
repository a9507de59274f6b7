"""The page in which coordinations are annotated, and its server (``core.local_page``)."""

from collections.abc import Callable
from collections.abc import Set as AbstractSet
from typing import Any
from urllib.parse import urlencode

from fastapi import FastAPI, Request, Response
from fastapi.responses import HTMLResponse, JSONResponse, PlainTextResponse
from typing_extensions import TypedDict

from pipeline.core.documents import Count, Number, PlaceName, parse_json
from pipeline.core.errors import InputError
from pipeline.core.local_page import TOKEN, local_app, rendered
from pipeline.core.types import COORDINATORS, Span
from pipeline.trying.annotate.questions import (
    GivenAnswer,
    Proposals,
    Words,
    decision,
    shown,
    undoing,
)
from pipeline.trying.annotate.saved import Saved

_COMMAND = "annotate"

ASSETS = {
    "annotate.css": "text/css", "selection.js": "text/javascript", "annotate.js": "text/javascript",
}  # fmt: skip
"""The page's own files and their media types; scripts in the order in which they are run."""

MOST_BYTES = 64 * 1024
"""Of an answer."""


class AnswerForm(TypedDict):
    """What the page sends: a coordinator of null sets the sentence aside."""

    sentence_id: PlaceName
    coordinator: Count | None
    conjuncts: list[list[Count]]
    seconds: Number


def make_app(  # noqa: PLR0917 - called once
    saved: Saved,
    words: Words,
    proposals: Proposals,
    token: str,
    then: str,
    coordinators: AbstractSet[str] = COORDINATORS,
) -> FastAPI:
    """The application: the page, its files, ``/api/now``, ``/api/decide`` and ``/api/undo``.

    Args:
        saved: what is decided, where answers go.
        words: of the sentences that were drawn.
        proposals: of a predictor, or none.
        token: the text that every request must bring.
        then: the command that reads what is saved.
        coordinators: words that are asked of, in lower case.
    """
    app = local_app(_COMMAND, token, ASSETS)
    scripts = [name for name in ASSETS if name.endswith(".js")]
    asked = urlencode({TOKEN: token})
    page = rendered(_COMMAND, scripts=scripts, asked=asked, then=then, file=str(saved.path))

    def answered(change: Callable[[], object]) -> Response:
        try:
            change()
        except InputError as error:
            return PlainTextResponse(f"{error}\n", 400)
        return now()

    @app.get("/", response_class=HTMLResponse)
    def index() -> str:
        return page

    @app.get("/api/now")
    def now() -> Response:
        return JSONResponse(shown(saved.decided, words, proposals, coordinators))

    @app.post("/api/undo")
    def undo() -> Response:
        return answered(lambda: saved.add(undoing(saved.decided)))

    @app.post("/api/decide")
    async def decide(request: Request) -> Response:
        body = b""
        async for part in request.stream():
            body += part
            if len(body) > MOST_BYTES:
                return PlainTextResponse(f"an answer of over {MOST_BYTES // 1024} kB\n", 413)
        return answered(
            lambda: saved.add(decision(saved.decided, words, _answer(body), coordinators))
        )

    return app


def _answer(body: bytes) -> GivenAnswer:
    """An answer, of which only its form is known to be right.

    Raises:
        InputError: it is none.
    """
    remedy = "reload the page"
    try:
        form: dict[str, Any] = parse_json(body.decode(), AnswerForm, remedy=remedy)
    except UnicodeDecodeError as error:
        raise InputError("not UTF-8 text", remedy=remedy) from error
    if any(len(span) != 2 for span in form["conjuncts"]):
        raise InputError("a conjunct is a first word and the one behind its last", remedy=remedy)
    return GivenAnswer(
        form["sentence_id"], form["coordinator"],
        tuple(Span(*span) for span in form["conjuncts"]), max(0.0, form["seconds"]),
    )  # fmt: skip

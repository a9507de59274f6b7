"""A corpus with a folder of event pairs, and maybe with questions: as `ingest` and `pair` leave them."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from pipeline.core.corpus_folder import QUESTIONS_FILE, SENTENCES_FILE, TEXT_FILE, ingest_output
from pipeline.core.files import FileFacts, sha256_of, write_json, write_text
from pipeline.core.parquet import MANIFEST, write_rows
from pipeline.core.questions import (
    CORE_PAIRS,
    CORE_PAIRS_FILE,
    EVENT_PAIRS,
    QUESTION_ROWS,
    Question,
    question_row,
)
from pipeline.core.schema import SENTENCES
from pipeline.tasks.questions.events import Event, event_text

_EVENT = {"predicate": "be", "negated": False, "passive": False, "arguments": []}


@dataclass(frozen=True)
class Pair:
    """Two clauses; ``core``: whether the pair is basic, with its words as its core events, or its events."""

    former: str
    latter: str
    connective: str = "because"
    license: str = "CC0-1.0"
    core: bool = True
    events: tuple[Event, Event] | None = None

    @property
    def cores(self) -> tuple[str, str]:
        """The core events."""
        if self.events:
            return event_text(self.events[0]), event_text(self.events[1])
        return self.former.lower(), self.latter.lower()


def question(context: str, right: str, *, split: str = "dev", asks: str = "effect",
             events: str | None = None) -> Question:  # fmt: skip
    choices = ("nothing happened", right)
    return Question(
        f"toy/{context}", context, split, asks, context, choices, 1, events, None, "CC0-1.0"
    )  # type: ignore[arg-type]


def write_corpus(folder: Path, text: Sequence[str], questions: Sequence[Question] = ()) -> Path:
    folder.mkdir(parents=True)
    write_text(folder / TEXT_FILE, "".join(f"{line}\n" for line in text))
    write_rows(folder / SENTENCES_FILE, SENTENCES, [])
    write_rows(folder / QUESTIONS_FILE, QUESTION_ROWS, map(question_row, questions))
    names = (TEXT_FILE, SENTENCES_FILE, QUESTIONS_FILE)
    ingest_output(folder).finish(
        {name: FileFacts.of(folder / name) for name in names}, {"task": "questions"}
    )
    return folder


def write_pairs(folder: Path, pairs: Sequence[Pair]) -> Path:
    """Pairs ``p00``, ``p01`` and so on, in two shards."""
    rows = [
        {"pair_id": f"p{number:02d}", "sentence_id": f"toy/{number}", "former": pair.former.split(),
         "latter": pair.latter.split(), "connective": pair.connective, "license": pair.license,
         **{f"{side}_event": asdict(pair.events[n]) if pair.events else _EVENT
            for n, side in enumerate(("former", "latter"))}}
        for number, pair in enumerate(pairs)
    ]  # fmt: skip
    shards = []
    folder.mkdir(parents=True)
    for number, part in enumerate((rows[::2], rows[1::2])):
        path = folder / f"pairs-{number:05d}-of-00002.parquet"
        count = write_rows(path, EVENT_PAIRS, part)
        shards.append({"file": path.name, "rows": count, "bytes": path.stat().st_size,
                       "sha256": sha256_of(path)})  # fmt: skip
    write_json(
        folder / MANIFEST,
        {"command": "conjoin pair", "settings": {}, "inputs": {}, "shards": shards},
    )
    cores = [
        {"pair_id": row["pair_id"], "former_core": pair.cores[0], "latter_core": pair.cores[1],
         "recovered": None}
        for row, pair in zip(rows, pairs, strict=True) if pair.core
    ]  # fmt: skip
    # By this `pair` knows that they are of the pairs beside them.
    write_rows(folder / CORE_PAIRS_FILE, CORE_PAIRS, cores,
               {"conjoin.fingerprint": sha256_of(folder / MANIFEST)})  # fmt: skip
    return folder

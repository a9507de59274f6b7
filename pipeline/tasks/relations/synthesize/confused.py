"""What a run's model takes for what among its validation pairs, and the pairs of L that it learned from.

The thesis looks at dev. The draw's validation pairs are annotated for every system, so that what is gained
over one without synthesis is at equal annotation.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pipeline.core.annotation import LABELLED, VALIDATION, Annotation, place_name, recorded
from pipeline.core.cards.runs import RunCard
from pipeline.core.console import table
from pipeline.core.corpus_folder import (
    INGEST_RECORD,
    RELATIONS_FILE,
    corpus_name,
    draw_file,
    require_ingested,
    task_name,
)
from pipeline.core.device import best_device
from pipeline.core.documents import read_json
from pipeline.core.draws import draw_name
from pipeline.core.errors import InputError
from pipeline.core.files import resolved, sha256_of
from pipeline.executor.launch import threads_of_torch
from pipeline.models.loading import identity
from pipeline.tasks.relations.confusions import Confusion, largest, matrix_of
from pipeline.tasks.relations.examples import example_of
from pipeline.tasks.relations.model import RelationModel
from pipeline.tasks.relations.pairs import Pair
from pipeline.tasks.relations.synthesize.settings import SynthesizeSettings
from pipeline.tasks.relations.task import RelationTask

_PREDICTOR = "predictor"
_SHOWN = 3  # runs that a remedy names


@dataclass(frozen=True)
class Confused:
    """A run, and what its model confuses.

    Attributes:
        folder: the run's.
        card: its ``run.json``.
        predictor: its model.
        cells: its largest confusions, the largest first.
        draw: |L|, a number or ``full``.
        labelled: L.
        validation: the pairs that it was tried on.
    """

    folder: Path
    card: RunCard
    predictor: RelationModel
    cells: Sequence[Confusion]
    draw: str
    labelled: Sequence[Pair]
    validation: Sequence[Pair]

    def against(self) -> dict[str, tuple[str, ...]]:
        """Each confused sense, and those that it is taken for; largest confusion first."""
        found: dict[str, tuple[str, ...]] = {}
        for cell in self.cells:
            found[cell.true] = (*found.get(cell.true, ()), cell.predicted)
        return found

    def inputs(self, corpus: Path) -> dict[str, Any]:
        """Digests of what all rows depend on, and the confusions."""
        return {
            "relations": sha256_of(corpus / RELATIONS_FILE),
            "draw": sha256_of(corpus / draw_file(self.card["seed"], self.draw)),
            "predictor": identity(str(self.folder / _PREDICTOR)),
            "confusions": [
                [each.true, each.predicted, each.errors, each.there] for each in self.cells
            ],
        }

    def annotation(self, corpus: Path) -> Annotation:
        """That of the run, of which the validation pairs are a part."""
        return recorded(self.card, place_name(self.folder))

    def show(self) -> None:
        """Print the confusions with their counts."""
        sources = [sum(cell.true in pair.senses for pair in self.labelled) for cell in self.cells]
        rows = [
            (each.true, each.predicted, f"{each.errors} of {each.there}", f"{each.rate:.0%}", count)
            for each, count in zip(self.cells, sources, strict=True)
        ]
        heads = ("relation", "taken for", "errors in validation", "rate", "pairs in L")
        table(f"what {self.folder} confuses most", heads, rows)


def confused(settings: SynthesizeSettings) -> Confused:
    """Load a run's model and try it on the validation pairs.

    Raises:
        InputError: there is no such corpus or run, or the run is of another corpus or draw; the corpus
            is of another task; or no confusion is large.
        ModelError: the model is damaged.
    """
    task, folder = RelationTask(), settings.run_folder
    if not (settings.corpus / INGEST_RECORD).exists():
        require_ingested(settings.corpus)  # a folder of nothing is no corpus of another task
    if (name := task_name(settings.corpus)) != task.name:
        raise InputError(
            f"a corpus of {name}, and argument pairs are written for one of {task.name}",
            path=settings.corpus, remedy="ingest one with the reader pdtb",
        )  # fmt: skip
    card: RunCard = read_json(
        folder / "run.json", RunCard, remedy="name a run that `conjoin train` finished, with --run"
    )
    draw = str(card.get("draw", card["labelled"]))
    _require_run_of(settings.corpus, folder, card, draw)
    labelled, validation = task.draw(settings.corpus, card["seed"], draw)
    predictor = task.load(folder / _PREDICTOR)
    with threads_of_torch(settings.threads):
        matrix = matrix_of(predictor.to(best_device()), validation)
    cells = largest(matrix, predictor.senses, settings.k, settings.least_errors)
    if not cells:
        raise InputError(
            f"its model takes no relation for another in {settings.least_errors} or more of the "
            f"{len(validation):,} validation pairs",
            path=folder, remedy="say a smaller --least-errors, or name a --run of a larger draw",
        )  # fmt: skip
    return Confused(folder, card, predictor, cells, draw, labelled, validation)


def _require_run_of(corpus: Path, folder: Path, card: RunCard, draw: str) -> None:
    """Check that a run learned from a draw of L of a corpus.

    Raises:
        InputError: it is another corpus's, as its record says, or the draw is not there.
    """
    own, record = corpus_name(corpus), recorded(card, place_name(folder))
    others = {part.corpus for part in record if part.part in (LABELLED, VALIDATION)}
    if others and own not in others:
        fault = f"a run of {' and '.join(sorted(others))}, and new pairs are wanted of {own}"
    elif resolved(corpus) in resolved(folder).parents:
        return  # a draw that is not there is missed by who reads it, who says how to get it back
    elif not (corpus / draw_file(card["seed"], draw)).is_file():
        fault = f"its draw of L, {draw_name(card['seed'], draw)}, is none of {own}"
    else:
        return
    there = [path.parent.relative_to(corpus) for path in corpus.glob("runs/*/*/seed-*/run.json")]
    named = ", ".join(map(str, sorted(there)[:_SHOWN])) or f"none yet: `conjoin train {corpus}`"
    raise InputError(
        fault, path=folder, remedy=f"name a run of {own} with --run; there are: {named}"
    )


def said_by(predictor: RelationModel, pairs: Sequence[Pair]) -> list[str | None]:
    """The sense that a model gives each pair; None where it gives none."""
    answers = predictor.answers([example_of(pair) for pair in pairs])
    return [None if each is None else each.example.senses[0] for each in answers]


def are_cut(predictor: RelationModel, pairs: Sequence[Pair]) -> list[bool]:
    """Whether each pair is too long for a model to read whole."""
    sides = [(pair.words1, pair.words2) for pair in pairs]
    predictor.pairs.encode(sides)  # at once, which it remembers
    return [bool(predictor.pairs.cut([each])) for each in sides]

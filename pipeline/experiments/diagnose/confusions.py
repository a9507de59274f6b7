"""What a run of relations confuses among its validation pairs: the matrix, and its largest cells."""

from functools import partial
from pathlib import Path

import torch

from pipeline.core.annotation import as_json, recorded
from pipeline.core.annotation import place_name as name_of
from pipeline.core.cards.confusions import ConfusionsFile
from pipeline.core.cards.runs import RunCard
from pipeline.core.claims import Claim, Listed, mark_of
from pipeline.core.console import say, table
from pipeline.core.corpus_folder import inputs_in
from pipeline.core.device import best_device
from pipeline.core.documents import read_json
from pipeline.core.errors import InputError
from pipeline.core.files import folder_lock, sweep, write_json
from pipeline.experiments.diagnose.settings import DiagnoseSettings
from pipeline.tasks.relations.confusions import Confusion, Matrix, largest, matrix_of
from pipeline.tasks.relations.model import RelationModel
from pipeline.tasks.relations.task import RelationTask

CONFUSIONS = "confusions.json"
_LOOKED_AT = "validation"


def find_confusions(settings: DiagnoseSettings, card: RunCard, corpus: Path) -> None:
    """Predict the validation pairs with a run's model, write ``confusions.json`` and print what is in it.

    Raises:
        InputError: the draw is gone, or another run's confusions are there.
        ModelError: the run's model cannot be loaded.
    """
    draw = str(card.get("draw", card["labelled"]))
    about = {"system": card["system"], "draw": draw, "seed": card["seed"]}
    out = settings.out or corpus / f"diagnosis/{card['system']}-{draw}-{card['seed']}"
    inputs = [*inputs_in(corpus), settings.run]
    claim = Claim(out, "diagnose", inputs, partial(_earlier, about=about), parts=[CONFUSIONS])
    claim.check()
    _, pairs = RelationTask().draw(corpus, card["seed"], draw)
    torch.set_num_threads(settings.threads)
    model = RelationModel.load(settings.run / "predictor").to(best_device())
    matrix = matrix_of(model, pairs)
    cells = largest(matrix, model.senses, settings.cells, settings.least_errors)
    document: ConfusionsFile = {
        "format": 1,
        "run": {"system": card["system"], "draw": draw, "seed": card["seed"]},
        "split": _LOOKED_AT,
        "least_errors": settings.least_errors,
        "senses": list(model.senses),
        "matrix": matrix.tolist(),
        "largest": [
            {"true": c.true, "predicted": c.predicted, "errors": c.errors, "there": c.there}
            for c in cells
        ],
        "annotation": as_json(recorded(card, name_of(settings.run))),
    }
    with folder_lock(out):
        claim.take()
        sweep(out / CONFUSIONS)
        write_json(out / CONFUSIONS, document)
    show(matrix, model.senses, cells, settings.least_errors)
    say(f"written: {out / CONFUSIONS}")


def _earlier(out: Path, about: dict[str, object]) -> Listed:
    """The confusions of the same run, which are found anew; None where there are none.

    Raises:
        InputError: they are of another run.
    """
    path, own = out / CONFUSIONS, mark_of(out, "diagnose") is not None
    if path.is_file():
        try:
            known = read_json(path, ConfusionsFile).get("run")
        except InputError:
            return None
        if known != about:
            raise InputError(
                "the confusions of another run are here", path=path, remedy="choose another --out"
            )
        own = True
    return [CONFUSIONS] if own else None


def show(
    matrix: Matrix, senses: tuple[str, ...], cells: list[Confusion], least_errors: int
) -> None:
    """Print the matrix, its rows true and its columns predicted senses, and the largest cells."""
    numbers = [str(number) for number in range(1, len(senses) + 1)]
    table(
        "true sense by predicted sense, validation pairs",
        ("", *numbers),
        [
            (f"{number} {sense}", *(f"{count:,}" if count else "" for count in row))
            for number, sense, row in zip(numbers, senses, matrix.tolist(), strict=True)
        ],
    )
    if not cells:
        say(f"no confusion of {least_errors} errors or more; say a smaller --least-errors")
        return
    table(
        f"largest confusions, of {least_errors} errors or more",
        ("true", "taken for", "errors", "of", "rate"),
        [(c.true, c.predicted, c.errors, c.there, f"{c.rate:.1%}") for c in cells],
    )

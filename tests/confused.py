"""A corpus of relations with a run whose model takes senses for one another, for it was never trained."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from pipeline.core.corpus_folder import RELATIONS_FILE, ingest_output
from pipeline.core.files import FileFacts, write_json
from pipeline.core.pairs import Pair, write_pairs
from pipeline.tasks.relations.model import RelationModel

SENSES = ("expansion.conjunction", "contingency.cause", "comparison.concession")
WORDS = ("old", "small", "dog", "harbor", "lamp", "man", "near", "saw", "yesterday")


def pair(number: int, split: str, kind: str = "implicit") -> Pair:
    draw = np.random.default_rng(number)
    first, second = (tuple(draw.choice(WORDS, size=draw.integers(2, 6)).tolist()) for _ in "12")
    senses = (SENSES[number % 3],)
    if kind == "explicit" and number % 10 == 0:
        senses = (*senses, SENSES[(number + 1) % 3])
    return Pair(f"toy/{number:03d}", f"d{number // 20}", split, " ".join(first), " ".join(second), first,
                second, senses, kind, "but" if kind == "explicit" else None, False, "CC-BY-4.0")  # fmt: skip


def build(
    folder: Path, bert: Path, *, shared: Sequence[tuple[int, int]] = (), implied: str = "{}"
) -> Path:
    """24 pairs in L, 60 to validate, 12 of dev, 90 explicit ones; and a run whose model was never trained.

    Args:
        folder: where it goes.
        bert: its encoder.
        shared: explicit pairs that have the arguments of others, by their numbers.
        implied: how Arg2 then stands in those others, as with the connective in it.
    """
    pairs = [pair(n, "dev" if 24 <= n < 36 else "train") for n in range(96)]
    pairs += [pair(n, "train", "explicit") for n in range(96, 186)]
    for one, other in shared:
        arg1, arg2 = pairs[other].arg1, pairs[other].arg2
        said = implied.format(arg2)
        pairs[one] = replace(pairs[one], arg1=arg1, arg2=arg2)
        pairs[other] = replace(pairs[other], arg2=said, words2=tuple(said.split()))
    write_pairs(folder, pairs)
    ids = [each.pair_id for each in pairs]
    draw = {"labelled": ids[:24], "validation": ids[36:96]}
    write_json(folder / "draws/seed-0/24.json", draw)
    files = [folder / RELATIONS_FILE, folder / "draws/seed-0/24.json"]
    facts = {file.relative_to(folder).as_posix(): FileFacts.of(file) for file in files}
    ingest_output(folder).finish(facts, {"task": "relations", "senses": list(SENSES)})
    (folder / "models").mkdir()
    (folder / "models/bert").symlink_to(bert)
    place = folder / "runs/baseline/24/seed-0"
    RelationModel.create(str(bert), SENSES, seed=4).save(place / "predictor")
    write_json(place / "run.json", {"system": "baseline", "mode": "baseline", "labelled": 24, "seed": 0,
                                    "draw": "24", "annotation": []})  # fmt: skip
    return folder

"""L and the validation set of a run: the sentences that a draw names (§5.1)."""

from pathlib import Path

from pipeline.ground.coordination import Sentence
from pipeline.ground.errors import InputError
from pipeline.ground.files import read_json
from pipeline.ground.schema import read_sentences

__all__ = ["draw_path", "read_draw"]


def draw_path(corpus: Path, name: str, seed: int) -> Path:
    """Where ``ingest`` put the draw of that name: a number of sentences, or ``full``."""
    return corpus / "draws" / f"seed-{seed}" / f"{name}.json"


def read_draw(corpus: Path, name: str, seed: int) -> tuple[list[Sentence], list[Sentence]]:
    """The sentences of L and of the validation set, in the order of the draw.

    Raises:
        InputError: the draw is missing or malformed, or names a sentence that is not in the
            training split.
    """
    path = draw_path(corpus, name, seed)
    draw = read_json(path, remedy=f"run `conjoin ingest` with --labelled {name} --seeds {seed}")
    try:
        wanted: list[list[str]] = [list(draw["labelled"]), list(draw["validation"])]
    except (KeyError, TypeError) as error:
        raise InputError("not a draw of L", path=path, remedy="run `conjoin ingest`") from error
    ids = {sentence_id for part in wanted for sentence_id in part}
    source = corpus / "sentences.parquet"
    found = {s.sentence_id: s for s in read_sentences(source, lambda s: s.sentence_id in ids)}
    for sentence_id in sorted(ids):
        if sentence_id not in found or found[sentence_id].split != "train":
            raise InputError(
                "the draw names a sentence that is not in the training split",
                path=path, sentence_id=sentence_id, remedy="run `conjoin ingest` again",
            )  # fmt: skip
    labelled, validation = ([found[i] for i in part] for part in wanted)
    return labelled, validation

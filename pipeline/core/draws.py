"""Draws of L as files that ``ingest`` wrote: the sentences that they name (§5.1)."""

from collections.abc import Mapping, Set
from pathlib import Path
from typing import TypeVar

import pyarrow as pa
import pyarrow.compute as pc

from pipeline.core.annotation import LABELLED, Annotation, of_draw, part_of
from pipeline.core.cards.ingest import DrawFile
from pipeline.core.corpus_folder import (
    DRAWS_FOLDER,
    SENTENCES_FILE,
    corpus_name,
    draw_file,
    ingest_card,
    require_ingested,
)
from pipeline.core.documents import read_json
from pipeline.core.errors import InputError
from pipeline.core.parquet import read_batches
from pipeline.core.schema import read_sentences
from pipeline.core.structures import fault_of
from pipeline.core.types import Sentence


def read_draw(corpus: Path, seed: int, labelled: str) -> tuple[list[Sentence], list[Sentence]]:
    """The sentences of L and of the validation set, in the order of the draw.

    Args:
        corpus: the corpus folder.
        seed: of the draw.
        labelled: its size, or ``full``.

    Raises:
        InputError: there is no such draw, or it names sentences that the corpus does not have so.
    """
    draw = read_draw_file(corpus, seed, labelled, SENTENCES_FILE)
    path = corpus / draw_file(seed, labelled)
    wanted = [draw["labelled"], draw["validation"]]
    ids = {sentence_id for part in wanted for sentence_id in part}
    found = gold_of(corpus, ids, path, "the draw names", "run `conjoin ingest` again")
    drawn, validation = ([found[i] for i in part] for part in wanted)
    return drawn, validation


def read_draw_file(corpus: Path, seed: int, labelled: str, of: str) -> DrawFile:
    """The ids of a draw, none of which is in L and in the validation set.

    Args:
        corpus: the corpus folder.
        seed: of the draw.
        labelled: its size, or ``full``.
        of: the file of the corpus that has what it names, and which is to be read.

    Raises:
        InputError: there is no such draw, it or that file is not as ``ingest`` wrote it, or an id is in both.
    """
    path = corpus / draw_file(seed, labelled)
    require_ingested(corpus, of, draw_file(seed, labelled))
    draw: DrawFile = read_json(path, DrawFile, remedy=_remedy(corpus, seed, labelled))
    for sentence_id in sorted(set(draw["labelled"]) & set(draw["validation"])):
        raise InputError(
            "the draw has a validation sentence in L",
            path=path, sentence_id=sentence_id, remedy="run `conjoin ingest` again",
        )  # fmt: skip
    return draw


_T = TypeVar("_T")


def read_drawn(
    corpus: Path, seed: int, labelled: str, known: Mapping[str, _T], *, of: str, what: str
) -> tuple[list[_T], list[_T]]:
    """What a draw names as L, and as its validation set.

    Args:
        corpus: the corpus folder.
        seed: of the draw.
        labelled: its size, or ``full``.
        known: all that it may name, by id.
        of: the file of the corpus that has it.
        what: one of these is called, for a message.

    Raises:
        InputError: as ``read_draw_file``; or it names something else.
    """
    drawn = read_draw_file(corpus, seed, labelled, of)
    for each in (*drawn["labelled"], *drawn["validation"]):
        if each not in known:
            raise InputError(
                f"the draw names what is no {what}",
                path=corpus / draw_file(seed, labelled), sentence_id=each,
                remedy="run `conjoin ingest` again",
            )  # fmt: skip
    return [known[i] for i in drawn["labelled"]], [known[i] for i in drawn["validation"]]


def draw_name(seed: int, labelled: str) -> str:
    """What records of annotation call a draw: ``250/seed-0``."""
    return f"{labelled}/seed-{seed}"


def held_out(corpus: Path, of: str = SENTENCES_FILE, name: str = "sentence_id") -> frozenset[str]:
    """Ids of what a corpus keeps for dev and tests, as it is divided now.

    Args:
        corpus: the corpus folder.
        of: the file of the corpus that has them.
        name: of the column with the ids.

    Raises:
        InputError: the file is missing or damaged.
    """
    columns = pa.schema([(name, pa.string()), ("split", pa.string())])
    found = set[str]()
    for batch in read_batches(corpus / of, columns):
        found.update(batch.filter(pc.not_equal(batch["split"], "train"))[name].to_pylist())
    return frozenset(found)


def every_draw(corpus: Path) -> dict[str, frozenset[str]]:
    """Ids of the labelled and validation sentences of each draw of a corpus, by ``draw_name``.

    Raises:
        InputError: the file of a draw is damaged.
    """
    found = {}
    for path in sorted((corpus / DRAWS_FOLDER).glob("seed-*/*.json")):
        draw = read_json(path, DrawFile, remedy="run `conjoin ingest` again")
        found[f"{path.stem}/{path.parent.name}"] = frozenset(
            (*draw["labelled"], *draw["validation"])
        )
    return found


def annotation_of_draw(
    corpus: Path, seed: int, labelled: str, *, validation: bool = True
) -> Annotation:
    """The record of who learns from the boundaries of L, and chooses by its validation sentences.

    Args:
        corpus: the corpus folder.
        seed: of the draw.
        labelled: its size, or ``full``.
        validation: whether its validation sentences are looked at, too.

    Raises:
        InputError: as ``read_draw``.
    """
    name, draw = corpus_name(corpus), draw_name(seed, labelled)
    own, watched = read_draw(corpus, seed, labelled)
    if not validation:
        return (part_of(name, LABELLED, own, trees=False, draw=draw),)
    return of_draw(name, draw, own, watched, trees=False)


def _remedy(corpus: Path, seed: int, labelled: str) -> str:
    """What to do where a draw is missing: take one of the same seed that is there, or draw it.

    Of text without annotation there is no draw.
    """
    path = corpus / draw_file(seed, labelled)
    again = f"run `conjoin ingest` with --labelled {labelled} --seeds {seed}"
    there = sorted(path.stem for path in path.parent.glob("*.json"))
    train = ingest_card(corpus).get("splits", {}).get("train", {})
    if not there and train.get("with_coordination") == 0:
        return (
            "no sentence of this corpus has annotated coordination, of which L is drawn: ingest a treebank "
            "with this text as its --unlabelled"
        )
    if not there or labelled in there:
        return again
    return f"there are: {', '.join(there)}; e.g. --labelled {there[-1]}; or {again}"


def gold_of(
    corpus: Path, ids: Set[str], named_by: Path, what: str, remedy: str
) -> dict[str, Sentence]:
    """Training sentences with their annotation, by id.

    Args:
        corpus: the corpus folder.
        ids: the wanted ones.
        named_by: the file that names them.
        what: that it does so, for a message: "the draw names".
        remedy: what to do about it if one is not there.

    Raises:
        InputError: one is not in the training split, or its annotation does not fit its words.
    """
    source = corpus / SENTENCES_FILE
    found = {s.sentence_id: s for s in read_sentences(source, lambda s: s.sentence_id in ids)}
    for sentence_id in sorted(ids):
        if sentence_id not in found or found[sentence_id].split != "train":
            raise InputError(
                f"{what} a sentence that is not in the training split",
                path=named_by, sentence_id=sentence_id, remedy=remedy,
            )  # fmt: skip
        if fault := _fault(found[sentence_id]):
            raise InputError(
                f"the words disagree with the annotation: {fault}",
                path=source, sentence_id=sentence_id, remedy="mend the corpus and ingest it again",
            )  # fmt: skip
    return found


def _fault(sentence: Sentence) -> str | None:
    """How a coordination of a sentence does not fit its words, or None."""
    faults = (fault_of(sentence.words, each) for each in sentence.coordinations)
    return next(filter(None, faults), None)

"""Attested fills of a corpus: its pool for a language model, and what the model chooses from it."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from transformers import PreTrainedTokenizerBase

from pipeline.core.corpus_folder import (
    DEPENDENCIES_FILE,
    SENTENCES_FILE,
    coordinators_of,
    find_trees,
    require_ingested,
    trees_digest,
    trees_folder,
)
from pipeline.core.errors import InputError
from pipeline.core.files import digest_of, sha256_of
from pipeline.core.schema import read_sentences
from pipeline.core.settings import Match
from pipeline.core.types import Reference
from pipeline.corpus.dependency_rows import every_tree, has_dependencies
from pipeline.infill.attested import Ranker
from pipeline.infill.base import NO_TOKENS, Fill, fill_tokens
from pipeline.infill.batching import fill
from pipeline.infill.pool import Pool, open_pool
from pipeline.infill.pool_building import PoolPlan, Trees
from pipeline.text.agreement import agreement_marks
from pipeline.text.dependencies import tree_in

NO_DONOR = "no donor with this label"


def parsed_inputs(corpus: Path, named: str | None = None) -> dict[str, Any]:
    """Digests of what the trees of U that ``preparse`` wrote are made of; ``named`` as ``trees_folder``."""
    return {"trees": trees_digest(trees_folder(corpus, named))}


def parsed_pool(
    corpus: Path, tokenizer: PreTrainedTokenizerBase, *, coordinators: bool = False
) -> Pool:
    """The pool of the trees of U that ``preparse`` wrote; the arguments are those of ``pool_of``.

    Raises:
        InputError: the corpus is not ingested or not parsed; or as ``pool_of``.
    """
    require_ingested(corpus)
    trees = find_trees(trees_folder(corpus), corpus / SENTENCES_FILE)
    return pool_of(corpus, trees, parsed_inputs(corpus), tokenizer, coordinators=coordinators)


def pool_of(
    corpus: Path,
    trees: Trees,
    inputs: Mapping[str, Any],
    tokenizer: PreTrainedTokenizerBase,
    *,
    match: Match = "label",
    coordinators: bool = False,
    gaps: bool = False,
) -> Pool:
    """The pool of some trees of a corpus for a language model.

    Args:
        corpus: the corpus folder.
        trees: those that offer their constituents.
        inputs: digests of the files that these come from, such as ``parsed_inputs``.
        tokenizer: the language model's.
        match: what a reference and its donors have in common.
        coordinators: whether constituents that hold a coordinator are taken, too.
        gaps: whether they are clauses without their verb, and nothing else.

    Raises:
        InputError: as ``open_pool``; or the corpus has no dependency trees to match features by.
    """

    def tags() -> Iterator[tuple[str, Sequence[str] | None]]:
        for sentence in read_sentences(corpus / SENTENCES_FILE):
            yield sentence.sentence_id, sentence.tags

    def marks() -> Iterator[tuple[str, Sequence[str] | None]]:
        found = every_tree(corpus)
        name, rows = next(found, ("", ""))
        for sentence in read_sentences(corpus / SENTENCES_FILE):
            if sentence.sentence_id == name:
                yield name, agreement_marks(tree_in(rows, name))
                name, rows = next(found, ("", ""))
            else:  # of unlabelled text that nobody parsed
                yield sentence.sentence_id, None

    if match == "features":
        if not has_dependencies(corpus):
            raise InputError(
                "no dependency trees in this corpus, which --match features needs", path=corpus,
                remedy="choose --match head, or begin with `conjoin ingest conllu`",
            )  # fmt: skip
        inputs = {**inputs, "dependencies": sha256_of(corpus / DEPENDENCIES_FILE)}
    return open_pool(
        PoolPlan(
            corpus, trees, inputs,
            tokens=partial(fill_tokens, tokenizer),
            tokenizer=digest_of(tokenizer.backend_tokenizer.to_str()),
            vocabulary=len(tokenizer),
            match=match,
            tags={"label": None, "head": tags, "features": marks}[match],
            coordinators=coordinators,
            known=frozenset(coordinators_of(corpus)),
            gaps=gaps,
        )
    )  # fmt: skip


def fill_attested(
    ranker: Ranker[Any],
    pool: Pool,
    references: Sequence[Reference],
    *,
    count: int,
    seed: int,
    budget: int = 16_384,
    on_batch: Callable[[int, int], None] = lambda *_: None,
) -> list[list[Fill]]:
    """Fills for references, in their order: for each at least one, best first.

    A reference for which the pool has nothing has one fill, which carries the reason.

    Args:
        ranker: the language model.
        pool: what it chooses from.
        references: what to coordinate.
        count: M, the donors drawn for each reference.
        seed: of the draws.
        budget: tokens of a batch.
        on_batch: as of ``batching.fill``.
    """
    lengths = ranker.counts(references)
    fills = [[Fill("", reason=NO_DONOR if length else NO_TOKENS)] for length in lengths]
    choices = {
        place: choice
        for place, (reference, length) in enumerate(zip(references, lengths, strict=True))
        if length and (choice := pool.draw(reference, partial(ranker.lengths, length), count, seed))
    }
    on_batch(len(references) - len(choices), 0)
    found = fill(ranker, list(choices.values()), budget, on_batch)
    for place, each in zip(choices, found, strict=True):
        fills[place] = each
    return fills

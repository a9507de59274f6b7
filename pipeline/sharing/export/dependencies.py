"""The dependency tree of a candidate, made from those of its source and its donors.

Nothing is stored beside candidates: a tree follows from the sentence's id, the donors' and the trees that
``ingest`` kept. Natural text has its own; what a language model wrote has none.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from pipeline.core.corpus_folder import DEPENDENCIES_FILE, require_ingested
from pipeline.core.types import Candidate, Span
from pipeline.corpus.dependency_rows import DependencyRows, linking_rows
from pipeline.text.dependencies import DependencyTree, tree_in
from pipeline.text.dependency_splicing import (
    Graft,
    learned_linking,
    require_read_back,
    spliced_dependencies,
)
from pipeline.text.splicing import OTHER_WORDS, NoTree

NO_ROWS = "a sentence without a dependency tree in the corpus"
WRITTEN = "a fill that a language model wrote, which has no dependency tree"
GAPPED = "a conjunct without its verb, for which no dependency tree is made"


@dataclass(frozen=True, slots=True)
class MadeDependencies:
    """The dependency tree of a candidate or sentence, or the reason for none."""

    tree: DependencyTree | None
    reason: str = ""


class CandidateDependencies(ExitStack):
    """Makes the dependency trees of candidates of one corpus; a context.

    Args:
        corpus: the corpus folder they were made from, which has dependency trees.

    Raises:
        InputError: these are not as ``ingest`` wrote them.
    """

    def __init__(self, corpus: Path) -> None:
        super().__init__()
        require_ingested(corpus, DEPENDENCIES_FILE)
        self._rows = self.enter_context(DependencyRows(corpus))
        self._linking = learned_linking(linking_rows(corpus))

    def of(self, candidates: Sequence[Candidate]) -> list[MadeDependencies]:
        """The trees of some candidates, in their order.

        Raises:
            InputError: a file of the corpus is damaged.
        """
        ids = {each.sentence_id for each in candidates}
        ids |= {donor.sentence_id for each in candidates for donor in each.donors}
        trees = self._trees(ids)
        return [self._made(each, trees) for each in candidates]

    def of_sentences(self, ids: Sequence[str]) -> list[MadeDependencies]:
        """The trees of some sentences, in their order."""
        trees = self._trees(set(ids))
        reasons = ("" if name in trees else NO_ROWS for name in ids)
        return [
            MadeDependencies(trees.get(name), why) for name, why in zip(ids, reasons, strict=True)
        ]

    def _trees(self, ids: set[str]) -> dict[str, DependencyTree]:
        return {name: tree_in(rows, name) for name, rows in self._rows.known(ids).items()}

    def _made(self, candidate: Candidate, trees: Mapping[str, DependencyTree]) -> MadeDependencies:
        try:
            tree = self._attempt(candidate, trees)
            require_read_back(tree, candidate.words, candidate.coordination)
        except NoTree as reason:
            return MadeDependencies(None, str(reason))
        return MadeDependencies(tree)

    def _attempt(self, candidate: Candidate, trees: Mapping[str, DependencyTree]) -> DependencyTree:
        source = trees.get(candidate.sentence_id)
        if source is None:
            raise NoTree(NO_ROWS)
        if source.forms == candidate.words:
            return source
        if candidate.gap is not None:
            raise NoTree(GAPPED)
        fills = list(_grafts(candidate, trees))
        if not fills:
            raise NoTree(WRITTEN)
        return spliced_dependencies(
            Graft(source, candidate.reference), fills, candidate.words, candidate.coordination,
            self._linking,
        )  # fmt: skip


def _grafts(candidate: Candidate, trees: Mapping[str, DependencyTree]) -> Iterator[Graft]:
    for donor in candidate.donors:
        if donor.sentence_id not in trees:
            raise NoTree(NO_ROWS)
        tree = trees[donor.sentence_id]
        if not 0 <= donor.start < donor.end <= len(tree.words):
            raise NoTree(OTHER_WORDS)
        yield Graft(tree, Span(donor.start, donor.end))

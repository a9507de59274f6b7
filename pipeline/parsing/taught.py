"""Sentences of candidates, as a parser reads them, for another parser to learn from beside gold trees.

Self-training of parsers pays where a second view decides what is learned (McClosky et al. 2006): here the
predictor, by which ``select --relative --whole-sentences`` keeps the sentences all of whose structures it
could believe.
"""

from collections.abc import Sequence, Set
from dataclasses import dataclass
from itertools import chain, cycle, islice
from pathlib import Path

from nltk.tree import Tree

from pipeline.core.annotation import Annotation, joined, place_name, recorded
from pipeline.core.cards.candidates import CandidatesManifest
from pipeline.core.console import say
from pipeline.core.documents import read_json
from pipeline.core.errors import InputError
from pipeline.core.files import digest_of, sha256_of
from pipeline.core.parquet import MANIFEST
from pipeline.core.schema import read_candidates
from pipeline.corpus.checked import open_candidates
from pipeline.parsing.annotated import annotation_of_parser
from pipeline.parsing.card import corpus_parser, loaded_from, parser_identity, read_card


@dataclass(frozen=True, slots=True)
class TaughtTrees:
    """What a parser learns from another one.

    Attributes:
        ids: of the sentences.
        trees: their words and trees; sentences of the same words have one.
    """

    ids: Sequence[str]
    trees: Sequence[tuple[tuple[str, ...], Tree]]


@dataclass(frozen=True, slots=True)
class Taught:
    """What a parser is to learn from another one.

    Attributes:
        candidates: folder of shards, whose sentences these are.
        teacher: folder of the parser that reads them.
    """

    candidates: Path
    teacher: Path

    def inputs(self) -> dict[str, str]:
        """Digests of all that the trees depend on.

        Raises:
            InputError: there are no candidates, or no such parser.
            ModelError: there are the treebank's own trees in its place.
        """
        shards = [sha256_of(path) for path in self._shards()]
        loaded_from(self.teacher)
        teacher = parser_identity(read_card(self.teacher))
        # A package that stanza has yet to load has no digest.
        return {"also": digest_of(shards), "teacher": str(teacher["sha256"] or teacher["name"])}

    def annotation(self) -> Annotation:
        """What people had annotated for candidates and parser."""
        path = self.candidates / MANIFEST
        manifest: CandidatesManifest = read_json(path, CandidatesManifest) if path.is_file() else {}
        of_candidates = recorded(manifest, place_name(self.candidates))
        return joined([*of_candidates, *annotation_of_parser(self.teacher)])

    def trees(self, without: Set[str]) -> TaughtTrees:
        """Each sentence once, in the order of the shards; what is left out is counted.

        Args:
            without: ids of sentences that are not taken: those with gold trees, and those of the draw.

        Raises:
            InputError: as ``inputs``.
            ModelError: the parser cannot be loaded, or wants tags.
        """
        rows = chain.from_iterable(read_candidates(path) for path in self._shards())
        ids_of: dict[tuple[str, ...], dict[str, None]] = {}
        own: set[str] = set()
        for row in rows:
            if row.sentence_id in without:
                own.add(row.sentence_id)
            else:
                ids_of.setdefault(row.words, {})[row.sentence_id] = None
        sentences = list(ids_of)
        if not sentences:
            raise InputError(
                "no sentence of these can be learned from: there is none outside the draw",
                path=self.candidates, remedy="name a folder that `conjoin harvest` or `select` wrote",
            )  # fmt: skip
        parser = corpus_parser(self.teacher)
        parsed = zip(sentences, parser.parse(sentences), strict=True)
        found = [(words, tree) for words, tree in parsed if tree is not None]
        say(f"{len(found):,} sentences of candidates to learn from, as {parser.name} reads them")
        reasons = {"no tree": len(sentences) - len(found), "labelled or validation": len(own)}
        for reason, count in reasons.items():
            if count:
                say(f"left out: {count:,} ({reason})")
        ids = dict.fromkeys(chain.from_iterable(ids_of[words] for words, _ in found))
        return TaughtTrees(list(ids), found)

    def _shards(self) -> list[Path]:
        shards = open_candidates(self.candidates)
        if not shards:
            raise InputError(
                "no candidates here", path=self.candidates,
                remedy="name a folder that `conjoin harvest` or `select` wrote",
            )  # fmt: skip
        return shards


def mixed(gold: Sequence[str], taught: Sequence[str]) -> list[str]:
    """As many trees of one kind as of the other, the fewer of them repeated; the gold ones without others."""
    if not taught:
        return list(gold)
    size = max(len(gold), len(taught))
    return [*islice(cycle(gold), size), *islice(cycle(taught), size)]

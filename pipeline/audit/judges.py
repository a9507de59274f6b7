"""Who knows which annotations are right: the grammar that made a corpus, or, of natural text, its treebank.

A treebank has nothing to say of a generated sentence. Of a sentence that stands in it, such as one that was
harvested, it has the gold coordinations.
"""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import ClassVar, Protocol

from pipeline.core.candidates import HARVESTED
from pipeline.core.cards.candidates import CandidatesManifest
from pipeline.core.corpus_folder import SENTENCES_FILE
from pipeline.core.documents import read_json
from pipeline.core.parquet import MANIFEST
from pipeline.core.schema import read_sentences
from pipeline.core.types import Candidate, Sentence, Span
from pipeline.world.oracle import Judgement, Oracle, OracleVerdict


class Judge(Protocol):
    """Tells right annotations from others."""

    name: ClassVar[str]
    """``grammar`` or ``treebank``."""

    def verdict(self, candidate: Candidate, conjuncts: tuple[Span, ...]) -> OracleVerdict:
        """Whether these are the conjuncts at the candidate's coordinator."""

    def repeats(self, candidate: Candidate) -> bool | None:
        """Whether the fill shares a content word with the reference; None where no word was filled in."""


class Grammar:
    """The grammar that made the corpus: it reads every sentence."""

    name: ClassVar[str] = "grammar"

    def __init__(self, oracle: Oracle) -> None:
        self._oracle = oracle

    def verdict(self, candidate: Candidate, conjuncts: tuple[Span, ...]) -> OracleVerdict:
        """By the readings of the sentence."""
        return self._oracle.judge(candidate.words, candidate.coordinator, conjuncts)

    def repeats(self, candidate: Candidate) -> bool | None:
        """By the lexicon's content words."""
        first, last = candidate.conjuncts[0], candidate.conjuncts[-1]
        one, other = (
            self._oracle.content(candidate.words[span.start : span.end]) for span in (first, last)
        )
        return bool(one & other)


class Treebank:
    """The gold annotation of sentences that candidates took over as they stand, where people made any.

    Args:
        corpus: the corpus folder.
        wanted: ids of the sentences that are asked about.
    """

    name: ClassVar[str] = "treebank"

    def __init__(self, corpus: Path, wanted: Iterable[str]) -> None:
        ids = frozenset(wanted)
        path = corpus / SENTENCES_FILE
        found = read_sentences(path, lambda s: s.sentence_id in ids) if ids else ()
        self._sentences: Mapping[str, Sentence] = {
            s.sentence_id: s for s in found if s.tree is not None or s.coordinations or s.examined
        }

    def knows(self, candidate: Candidate) -> bool:
        """If the sentence is the treebank's, word for word."""
        sentence = self._sentences.get(candidate.sentence_id)
        return sentence is not None and sentence.words == candidate.words

    def verdict(self, candidate: Candidate, conjuncts: tuple[Span, ...]) -> OracleVerdict:
        """Right if the gold coordination there has exactly these conjuncts; where there is none, not."""
        gold = {
            each.coordinator: each.conjuncts
            for each in self._sentences[candidate.sentence_id].coordinations
        }
        right = gold.get(candidate.coordinator) == conjuncts
        return OracleVerdict(Judgement.RIGHT if right else Judgement.OTHER, sensible=right)

    def repeats(self, candidate: Candidate) -> bool | None:
        """Nobody filled anything in."""
        return None


def may_be_natural(folder: Path) -> bool:
    """Whether some run behind a folder of candidates took natural text, by its manifest.

    Raises:
        InputError: the manifest is none.
    """
    path = folder / MANIFEST
    manifest: CandidatesManifest = read_json(path, CandidatesManifest) if path.is_file() else {}
    runs = [manifest, *manifest.get("generations", {}).values()]
    return any(run.get("settings", {}).get("fills") == HARVESTED for run in runs)

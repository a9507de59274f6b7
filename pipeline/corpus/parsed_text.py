"""Trees of unlabelled text that came parsed (``ingest conllu --unlabelled parsed.conllu``).

They are made of the parser's dependency trees, as the treebank's are of people's.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pipeline.core.annotation import Annotation, unknown
from pipeline.core.corpus_folder import DEPENDENCIES_FILE, require_ingested
from pipeline.core.files import sha256_of
from pipeline.core.types import Sentence
from pipeline.corpus.dependency_rows import (
    TEXT_PARSER,
    DependencyRows,
    has_dependencies,
    parsed_ids,
)
from pipeline.corpus.sentence_trees import TREEBANK
from pipeline.text.dependencies import tree_in
from pipeline.text.dependency_phrases import READING, DependencyPhrases, phrases_of


@dataclass(frozen=True, slots=True)
class ParsedText:
    """The text of a corpus that came parsed.

    Attributes:
        corpus: its folder.
        ids: of its sentences.
        name: what its trees are said to be of.
    """

    corpus: Path
    ids: frozenset[str]
    name: str = TEXT_PARSER

    @property
    def beside_treebank(self) -> str:
        """What the trees of U are said to be of, of which some are the treebank's."""
        return f"{TREEBANK} and {self.name}"

    @property
    def inputs(self) -> dict[str, Any]:
        """What rests on its phrases depends on: the file of dependency trees, and how they are read."""
        return {"dependencies": sha256_of(self.corpus / DEPENDENCIES_FILE), "phrases": READING}

    def phrases(self, sentences: Sequence[Sentence]) -> dict[str, DependencyPhrases]:
        """The coordinations and constituents of those sentences that came parsed, by id.

        Raises:
            InputError: a row is no tree.
        """
        own = {each.sentence_id for each in sentences} & self.ids
        with DependencyRows(self.corpus) as known:
            found = known.known(own)
        return {name: phrases_of(tree_in(rows, name)) for name, rows in found.items()}

    def annotation(self, sentences: Sequence[Sentence]) -> Annotation:
        """What people had annotated for its trees of some sentences: that is not known.

        Where none of them came parsed, nothing rests on that.
        """
        some = any(each.sentence_id in self.ids for each in sentences)
        return unknown(self.name) if some else ()


def parsed_text(corpus: Path) -> ParsedText | None:
    """The text of a corpus that came parsed; None where none did.

    Raises:
        InputError: its dependency trees are not as ``ingest`` wrote them.
    """
    if not has_dependencies(corpus):
        return None
    require_ingested(corpus, DEPENDENCIES_FILE)
    ids = parsed_ids(corpus)
    return ParsedText(corpus, ids) if ids else None

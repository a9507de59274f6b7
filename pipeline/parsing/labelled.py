"""A parser of the trees of L, and of as many others as are asked for; its draw's validation sentences choose.

Of L alone it says what candidates yield without annotation beyond L.
"""

import hashlib
from collections.abc import Set
from dataclasses import dataclass, replace
from functools import cached_property
from heapq import nsmallest
from pathlib import Path

from pipeline.core.annotation import Annotation, joined
from pipeline.core.cards.parser import ParserCard
from pipeline.core.corpus_folder import SENTENCES_FILE, draw_file
from pipeline.core.draws import draw_name, read_draw
from pipeline.core.errors import InputError
from pipeline.core.files import sha256_of
from pipeline.core.fingerprint import Fingerprint, versions_of
from pipeline.core.schema import read_sentences
from pipeline.core.types import Sentence, is_unlabelled_seed
from pipeline.parsing.annotated import learned
from pipeline.parsing.encoders import encoder_inputs
from pipeline.parsing.making import ALGORITHM, ENCODERS, ensure_trained, made_by_one, parser_output
from pipeline.parsing.settings import ParserSettings
from pipeline.parsing.taught import Taught, TaughtTrees


@dataclass(frozen=True)
class LabelledParser:
    """What such a parser is made of, and where it goes.

    Attributes:
        folder: of the parser.
        corpus: the corpus folder.
        labelled: size of the draw of L, or ``full``; its seed is the settings'.
        settings: how it is trained.
        encoder: checkpoint of the language model that it reads; None: none.
        more: trees outside the draw, and outside U, whose trees are to be predictions.
        min_words: shortest sentence in U.
        taught: sentences of candidates, as another parser reads them, to learn from as well.
        patience: epochs that are not better than the best, after which training ends; 0: it has them all.
    """

    folder: Path
    corpus: Path
    labelled: str
    settings: ParserSettings
    encoder: str | None = None
    more: int = 0
    min_words: int = 0
    taught: Taught | None = None
    patience: int = 0

    @cached_property
    def fingerprint(self) -> Fingerprint:
        """Everything that it depends on.

        One that is there and had all its epochs will do where fewer might: it chose among more.
        """
        whole = self._made_of()
        if not self.patience or parser_output(self.folder, whole).state().kind == "current":
            return whole
        return replace(whole, settings={**whole.settings, "parser_patience": self.patience})

    def _made_of(self) -> Fingerprint:
        """Everything that it depends on if it has all its epochs."""
        fields = {"parser_epochs", "parser_hidden", "seed", "tags", "threads"}
        fields |= self.settings.of_encoder
        made = self.settings.model_dump(mode="json", include=fields) | {"labelled": self.labelled}
        if self.more:
            made |= {"more_trees": self.more, "min_words": self.min_words}
        draw = self.corpus / draw_file(self.settings.seed, self.labelled)
        return Fingerprint(
            settings=made,
            inputs={
                "sentences": sha256_of(self.corpus / SENTENCES_FILE),
                "draw": sha256_of(draw),
                **(encoder_inputs(self.encoder) if self.encoder else {"encoder": None}),
                **(self.taught.inputs() if self.taught else {}),
            },
            algorithm=ALGORITHM,
            versions=versions_of("stanza", "torch", *(ENCODERS if self.encoder else ())),
        )

    def is_current(self) -> bool:
        """Whether it lies there, made of the same."""
        return parser_output(self.folder, self.fingerprint).state().kind == "current"

    def make(self) -> ParserCard:
        """Its card; trained, if it must be.

        Raises:
            ModelError: the language model cannot be loaded.
            InputError: L has no trees, or fewer than ``more`` others are left.
        """
        return ensure_trained(
            self.folder, self.fingerprint, self.settings, self._examples, self._annotation,
            encoder=self.encoder, taught=self._taught_trees if self.taught else None,
            patience=self.patience,
        )  # fmt: skip

    def ensure(self) -> ParserCard:
        """As ``make``, by one process for all."""
        return made_by_one(self.folder, self.settings.threads, self.make)

    def _examples(self) -> tuple[list[Sentence], list[Sentence]]:
        draw = read_draw(self.corpus, self.settings.seed, self.labelled)
        drawn, validation = ([s for s in part if s.tree is not None] for part in draw)
        if not drawn or not validation:
            raise InputError(
                "the labelled sentences have no trees, so no parser can be trained on them",
                path=self.corpus / draw_file(self.settings.seed, self.labelled),
                remedy="take the parser of another corpus, or a stanza package: `conjoin preparse --parser`",
            )
        if not self.more:
            return drawn, validation
        return drawn + self._others({s.sentence_id for part in draw for s in part}), validation

    def _taught_trees(self, own: Set[str]) -> TaughtTrees:
        """What another parser teaches: nothing of the draw, whether its sentences have trees or not."""
        draw = read_draw(self.corpus, self.settings.seed, self.labelled)
        drawn = {sentence.sentence_id for part in draw for sentence in part}
        return self.taught.trees(own | drawn) if self.taught else TaughtTrees([], [])

    def _others(self, drawn: set[str]) -> list[Sentence]:
        """The trees outside the draw whose ids have the smallest keys, so that fewer are a part of more."""

        def wanted(sentence: Sentence) -> bool:
            return (
                sentence.split == "train"
                and sentence.tree is not None
                and sentence.sentence_id not in drawn
                and not is_unlabelled_seed(sentence, self.min_words)
            )

        def key(sentence: Sentence) -> tuple[bytes, str]:
            text = f"more-trees/{self.settings.seed}/{sentence.sentence_id}"
            return hashlib.sha256(text.encode()).digest(), sentence.sentence_id

        source = self.corpus / SENTENCES_FILE
        found = nsmallest(self.more, read_sentences(source, wanted), key=key)
        if len(found) < self.more:
            raise InputError(
                f"{len(found):,} trees are left outside the draw and U, and {self.more:,} more are asked for",
                path=source, remedy=f"say --more-trees {len(found)} or fewer",
            )  # fmt: skip
        return found

    def _annotation(self, train: list[Sentence], dev: list[Sentence]) -> Annotation:
        seed = self.settings.seed
        own, _ = read_draw(self.corpus, seed, self.labelled)
        record = learned(
            self.corpus, train, dev, draw=draw_name(seed, self.labelled),
            labelled={s.sentence_id for s in own}, encoder=self.encoder,
        )  # fmt: skip
        return joined([*record, *self.taught.annotation()]) if self.taught else record

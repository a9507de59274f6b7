"""Relations as a task: the sense of an argument pair without a connective (the thesis's chapter 4)."""

from collections import Counter
from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from pathlib import Path

import pyarrow as pa

from pipeline.core.annotation import LABELLED, VALIDATION, Annotation, joined
from pipeline.core.corpora import RELATIONS
from pipeline.core.corpus_folder import RELATIONS_FILE, corpus_name
from pipeline.core.draws import draw_name, held_out, read_drawn
from pipeline.core.pairs import Pair
from pipeline.tasks.protocol import HeadSettings, Learnable, Task
from pipeline.tasks.relations.evaluation import RelationEvaluation
from pipeline.tasks.relations.examples import PairExample, example_of
from pipeline.tasks.relations.model import RelationModel
from pipeline.tasks.relations.pairs import known_pairs, part_of_pairs, senses_of
from pipeline.tasks.relations.rows import RelationRows


class RelationTask(Task[PairExample]):
    """See ``tasks.protocol.Task``; a source is an implicit pair with the senses that models tell apart."""

    name = RELATIONS
    options = frozenset({"logit_adjustment"})
    augmentations = {}  # noqa: RUF012 - none of its own
    answer_columns = (pa.field("sense", pa.string(), nullable=False),)
    rows = RelationRows()
    evaluation = RelationEvaluation()

    def draw(self, corpus: Path, seed: int, labelled: str) -> tuple[list[Pair], list[Pair]]:
        """The pairs of L, and of the validation set."""
        known = {pair.pair_id: pair for pair in known_pairs(corpus, {"train"})}
        what = "training pair of a sense that models tell apart"
        return read_drawn(corpus, seed, labelled, known, of=RELATIONS_FILE, what=what)

    def annotation(self, corpus: Path, seed: int, labelled: str) -> Annotation:
        """The senses of L and of its validation set."""
        own, watched = self.draw(corpus, seed, labelled)
        name, draw = corpus_name(corpus), draw_name(seed, labelled)
        return joined(
            [
                part_of_pairs(name, LABELLED, own, draw=draw),
                part_of_pairs(name, VALIDATION, watched, draw=draw, use="chosen"),
            ]
        )

    def examples(self, sources: Sequence[Pair], model: RelationModel) -> Learnable[PairExample]:
        """Each pair is an example, with an instance for each of its senses."""
        found = Learnable.of(model, [example_of(pair) for pair in sources])
        cut = model.pairs.cut([example.sides for example in found.learned])
        notes = {f"pairs cut to {model.pairs.longest} subwords": cut} if cut else {}
        return replace(found, notes=notes)

    def labels(self, source: Pair) -> AbstractSet[str]:
        """None: candidates are made of confused senses alone."""
        return frozenset()

    def protected(self, source: Pair) -> frozenset[int]:
        """No word says where the answer is."""
        return frozenset()

    def kept_apart(self, labelled: Sequence[Pair], validation: Sequence[Pair]) -> set[str]:
        """The validation set: synthetic pairs are made of those of L."""
        return {pair.pair_id for pair in validation}

    def held_out(self, corpus: Path) -> frozenset[str]:
        """Pairs: synthetic ones are made of these."""
        return held_out(corpus, RELATIONS_FILE, "pair_id")

    def create(self, where: str, settings: HeadSettings, seed: int) -> RelationModel:
        """An encoder with a fresh linear layer; with τ the shares of senses are those of the draw's L."""
        model = RelationModel.create(
            where,
            senses_of(settings.corpus),
            seed=seed,
            encoder_dropout=settings.encoder_dropout,
        )
        if settings.logit_adjustment:
            own, _ = self.draw(settings.corpus, settings.seed, settings.labelled)
            counts = Counter(sense for pair in own for sense in pair.senses)
            model.adjust(counts, settings.logit_adjustment)
        return model

    def load(self, folder: Path) -> RelationModel:
        """The model of a folder."""
        return RelationModel.load(folder)

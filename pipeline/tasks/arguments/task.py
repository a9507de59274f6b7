"""Arguments as a task: which words of the sentence fill a predicate's roles (Konno et al., 2020)."""

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from pathlib import Path

import pyarrow as pa

from pipeline.core.annotation import LABELLED, VALIDATION, Annotation, joined
from pipeline.core.corpora import ARGUMENTS
from pipeline.core.corpus_folder import corpus_name
from pipeline.core.draws import draw_name, read_draw
from pipeline.core.predicates import ROLES
from pipeline.tasks.arguments.evaluation import ArgumentEvaluation
from pipeline.tasks.arguments.examples import ArgumentExample, example_of
from pipeline.tasks.arguments.model import ArgumentModel
from pipeline.tasks.arguments.predicates import Clause, clauses_of, part_of_clauses
from pipeline.tasks.arguments.rows import NoRows
from pipeline.tasks.protocol import HeadSettings, Learnable, Task

TWO_ROLES = "words fill several roles of a predicate, and are learned as the first of them"


class ArgumentTask(Task[ArgumentExample]):
    """See ``tasks.protocol.Task``; a source is a predicate of a sentence that the draw names."""

    name = ARGUMENTS
    options = frozenset({"rnn_layers", "rnn_units"})
    augmentations = {}  # noqa: RUF012 - none of its own
    answer_columns = tuple(pa.field(role.lower(), pa.int32()) for role in ROLES)
    rows = NoRows()
    evaluation = ArgumentEvaluation()

    def draw(self, corpus: Path, seed: int, labelled: str) -> tuple[list[Clause], list[Clause]]:
        """The predicates of the sentences of L, and of the validation sentences."""
        own, watched = read_draw(corpus, seed, labelled)
        return clauses_of(corpus, own), clauses_of(corpus, watched)

    def annotation(self, corpus: Path, seed: int, labelled: str) -> Annotation:
        """The arguments of L and of its validation sentences."""
        own, watched = self.draw(corpus, seed, labelled)
        name, draw = corpus_name(corpus), draw_name(seed, labelled)
        return joined(
            [
                part_of_clauses(name, LABELLED, own, draw=draw),
                part_of_clauses(name, VALIDATION, watched, draw=draw, use="chosen"),
            ]
        )

    def examples(
        self, sources: Sequence[Clause], model: ArgumentModel
    ) -> Learnable[ArgumentExample]:
        """Each predicate is an example of one instance."""
        found = Learnable.of(model, [example_of(clause) for clause in sources])
        twice = 0
        for example in found.learned:
            words = [word for own in example.fillers for word in own]
            twice += len(words) - len(set(words))
        return replace(found, notes={TWO_ROLES: twice} if twice else {})

    def labels(self, source: Clause) -> AbstractSet[str]:
        """None: there are no candidates."""
        return frozenset()

    def protected(self, source: Clause) -> frozenset[int]:
        """The target predicate alone (footnote 4): others may change."""
        return frozenset({source.predicate.predicate})

    def place(self, source: Clause) -> str:
        """The predicate's word: each predicate of a sentence has variants of its own."""
        return str(source.predicate.predicate)

    def create(self, where: str, settings: HeadSettings, seed: int) -> ArgumentModel:
        """An encoder with a fresh labeller."""
        return ArgumentModel.create(
            where,
            layers=settings.rnn_layers,
            units=settings.rnn_units,
            seed=seed,
            encoder_dropout=settings.encoder_dropout,
        )

    def load(self, folder: Path) -> ArgumentModel:
        """The model of a folder."""
        return ArgumentModel.load(folder)

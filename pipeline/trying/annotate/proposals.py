"""What a predictor and a parser say of sentences that a person shall annotate."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from pathlib import Path

from pipeline.core.device import best_device
from pipeline.core.types import COORDINATORS, Sentence, Span
from pipeline.tasks.coordination.model import CoordinationPredictor
from pipeline.text.lines import GivenSentence
from pipeline.trying.annotate.questions import Proposals
from pipeline.trying.predict.answers import Found, Parse, SentenceAnswer, answers
from pipeline.trying.predict.parser import parser_of


class Machines:
    """A predictor, and a parser beside it or none.

    Args:
        predictor: its folder.
        parser: its folder, or that of a corpus that has one.
        coordinators: those of the corpus, in lower case.

    Raises:
        InputError: there is no parser.
        ModelError: one of them cannot be loaded.
    """

    def __init__(
        self, predictor: Path, parser: Path | None, coordinators: AbstractSet[str] = COORDINATORS
    ) -> None:
        self._predictor = CoordinationPredictor.load(predictor).to(best_device())
        self._known = coordinators
        self._parse: Parse | None = None if parser is None else parser_of(parser, coordinators)

    def _answers(self, sentences: Iterable[Sentence]) -> Iterator[SentenceAnswer]:
        given = (GivenSentence(each.words, 1, each.sentence_id) for each in sentences)
        return answers(self._predictor, given, coordinators=self._known, parse=self._parse)

    def proposals(self, sentences: Sequence[Sentence]) -> Proposals:
        """The conjuncts of each coordinator, as ``predict`` finds them."""
        return {
            answer.sentence.name or "": {
                each.coordinator: each.conjuncts
                for each in answer.entries
                if isinstance(each, Found)
            }
            for answer in self._answers(sentences)
        }

    def disagreements(
        self, sentences: Sequence[Sentence], seen: Callable[[], None]
    ) -> dict[str, float]:
        """Of sentences in which the two say different outer boundaries, the predictor's highest probability.

        Args:
            sentences: to be read.
            seen: called after each.

        Returns:
            Probabilities of its own boundaries, by sentence; where either says nothing they do not differ.
        """
        assert self._parse is not None  # noqa: S101 - the settings see to it
        given = (GivenSentence(each.words, 1, each.sentence_id) for each in sentences)
        found: dict[str, float] = {}
        # With tau 0 the parser's structure is the answer wherever it has one.
        for answer in answers(
            self._predictor, given, coordinators=self._known, parse=self._parse, tau=0.0
        ):
            for each in answer.entries:
                if isinstance(each, Found) and each.structure and each.best:
                    own, other = each.best[0], each.structure[0]
                    if own.span != Span(other.start, other.end):
                        name = answer.sentence.name or ""
                        found[name] = max(found.get(name, 0.0), own.probability)
            seen()
        return found

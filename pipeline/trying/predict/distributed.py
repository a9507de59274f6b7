"""Coordinations as phrases: each conjunct alone, with the words that it shares with the others.

"hot and cold chicken soup" is "hot chicken soup" and "cold chicken soup". What is shared is the rest of a
*frame*, in which the coordination stands:

- With a parser's tree of the sentence it is the smallest constituent that holds the coordination and a word
  (something with a letter or digit) besides.
- Without one (no ``--parser``, or it found no tree) it is the sentence, as in the analysis of coordination by
  Saha and Mausam (2018) and Kolluru et al. (2020): "simple sentences", in each of which one conjunct stands
  for all.

In a phrase the conjunct stands where the coordination stood. All else of that is left out: coordinators,
commas, an adverb that belongs to no conjunct; and *both*, *either* or *neither* directly before it. The words
that stay are not inflected anew ("a cat and a dog bark" has "a cat bark"), and a phrase is no claim: of "she
neither ate nor slept" one is "she ate".

Of nested coordinations each is distributed by itself, and the other stands in its phrases as it is: "[hot and
cold] soup or tea" gives four. So a sentence has as many phrases as conjuncts, of which at most
``MOST_PHRASES`` are made.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from pipeline.core.structures import PRECONJUNCTION_OF
from pipeline.core.types import Span
from pipeline.text.coordinations import is_worded
from pipeline.text.trees import Constituent
from pipeline.trying.predict.answers import Found, SentenceAnswer, Skipped

MOST_PHRASES = 200
"""Phrases of one sentence: each may be as long as the sentence."""

SENTENCE = "sentence"
"""In place of the label of a frame that is no constituent."""


@dataclass(frozen=True, slots=True)
class Phrase:
    """A conjunct with what it shares.

    Attributes:
        coordinator: the word index of its coordination.
        conjunct: its words in the sentence.
        shared: the words of the sentence that stand before it and after it; either may be empty.
        frame: the label of the constituent that they are of, or ``SENTENCE``.
    """

    coordinator: int
    conjunct: Span
    shared: tuple[Span, Span]
    frame: str

    def words(self, sentence: Sequence[str]) -> tuple[str, ...]:
        """The phrase, in the words of its sentence."""
        before, after = self.shared
        parts = (before, self.conjunct, after)
        return tuple(word for part in parts for word in sentence[part.start : part.end])


def phrases(answer: SentenceAnswer) -> Iterator[Phrase]:
    """Yield the phrases of the answers at all coordinators of a sentence, in the order of the conjuncts."""
    words = answer.sentence.words
    tree = answer.beside.constituents if answer.beside else ()
    for entry in answer.entries:
        if isinstance(entry, Skipped):
            continue
        whole = Span(entry.conjuncts[0].start, entry.conjuncts[-1].end)
        first = PRECONJUNCTION_OF.get(words[entry.coordinator].lower())
        if whole.start and words[whole.start - 1].lower() == first:
            whole = Span(whole.start - 1, whole.end)
        frame, label = _frame(words, whole, tree)
        shared = Span(frame.start, whole.start), Span(whole.end, frame.end)
        for conjunct in entry.conjuncts:
            yield Phrase(entry.coordinator, conjunct, shared, label)


def _frame(words: Sequence[str], inner: Span, tree: Sequence[Constituent]) -> tuple[Span, str]:
    """What a coordination stands in, and its label."""
    fitting = [
        each
        for each in tree
        if each.span.start <= inner.start
        and inner.end <= each.span.end
        and is_worded([*words[each.span.start : inner.start], *words[inner.end : each.span.end]])
    ]
    # Of as many words the innermost: the outermost may be a root that has no label of its own (S1).
    least = min(reversed(fitting), key=lambda each: len(each.span), default=None)
    return (least.span, least.label) if least else (Span(0, len(words)), SENTENCE)


def phrases_cut(answer: SentenceAnswer) -> int:
    """How many phrases of a sentence are not made, for it has more than ``MOST_PHRASES``."""
    conjuncts = sum(len(each.conjuncts) for each in answer.entries if isinstance(each, Found))
    return max(0, conjuncts - MOST_PHRASES)


def distributed(answer: SentenceAnswer) -> str:
    """A line per phrase: phrase, conjunct, shared words, coordinator, frame, line of the sentence.

    Among the shared words ``…`` is where the conjunct stands. A sentence with a name has that for its line.
    What is skipped has the sentence as it is, ``-`` for conjunct and shared words, the coordinator or ``-``,
    and for the frame the reason; what is cut, too.
    """
    words = answer.sentence.words
    place = answer.sentence.name or str(answer.sentence.line)
    lines: list[tuple[str, ...]] = []
    for number, one in enumerate(phrases(answer)):
        if number == MOST_PHRASES:
            break
        before, conjunct, after = (
            " ".join(words[part.start : part.end])
            for part in (one.shared[0], one.conjunct, one.shared[1])
        )
        phrase = " ".join(one.words(words))
        shared = " ".join(filter(None, (before, "…", after)))
        lines.append((phrase, conjunct, shared, words[one.coordinator], one.frame, place))
    left_out = [
        ("-" if each.coordinator is None else words[each.coordinator], each.reason)
        for each in answer.entries
        if isinstance(each, Skipped)
    ]
    if cut := phrases_cut(answer):
        left_out.append(("-", f"phrases cut: {cut:,}"))
    lines += [(" ".join(words), "-", "-", *what, place) for what in left_out]
    return "".join("\t".join(line) + "\n" for line in lines)

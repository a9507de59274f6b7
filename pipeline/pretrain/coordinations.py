"""Natural coordinations in parsed sentences, from which language models learn to fill twins.

A language model is to fill "X and <mask>" and "<mask> and X" with the same conjunct (§3.1). Sentences
with a coordination show what such a conjunct looks like. Its boundaries are read off the trees of the
parser that also gives the reference spans, so the model itself learns from no annotation. A parser
trained here has learnt from some: from gold trees with their coordinations, of more sentences than L
has and of some of these very sentences.
"""

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from nltk.tree import Tree

from pipeline.core.tally import Tally
from pipeline.core.types import COORDINATORS, Coordination, Reference, SourceSentence, Span
from pipeline.text.coordinations import UNWORDED, as_read, is_worded, ptb_coordinations
from pipeline.text.natural import join_words

UNFOUND = "the tree joins nothing at the coordinator"
MORE = "three conjuncts or more"
APART = "a conjunct does not touch the coordinator"
EQUAL = "both conjuncts are the same"


@dataclass(frozen=True, slots=True)
class Hidden:
    """A coordination one of whose conjuncts is hidden: a task of generation whose answer is known.

    Attributes:
        reference: the sentence without the hidden conjunct and the coordinator, as generation would
            meet it; its span is the conjunct that is shown.
        coordinator: the word that links the conjuncts.
        text: natural text of the hidden conjunct.
    """

    reference: Reference
    coordinator: str
    text: str


def natural_coordinations(
    words: Sequence[str], tree: Tree, coordinators: AbstractSet[str] = COORDINATORS
) -> tuple[list[Coordination], Tally]:
    """Coordinations of two conjuncts that touch one of the corpus's coordinators (footnote 2).

    Args:
        words: of the sentence.
        tree: its constituency tree, with tags or without.
        coordinators: of the corpus, in lower case.

    Returns:
        The coordinations in the order of their coordinators, and a tally of all words among the
        coordinators: kept, or why one is of no use.
    """
    tally = Tally()
    found = {each.coordinator: each for each in ptb_coordinations(as_read(tree, coordinators))}
    kept: list[Coordination] = []
    for index, word in enumerate(words):
        if word.lower() not in coordinators:
            continue
        coordination = found.get(index)
        reason = UNFOUND if coordination is None else _fault(words, coordination)
        if coordination is None or reason:
            tally.refuse(reason or UNFOUND)
        else:
            tally.keep()
            kept.append(coordination)
    return kept, tally


def _fault(words: Sequence[str], coordination: Coordination) -> str | None:
    if len(coordination.conjuncts) != 2:
        # Twins have two; a third beside them would show the model what generation hides.
        return MORE if len(coordination.conjuncts) > 2 else UNFOUND
    first, second = coordination.conjuncts
    if first.end != coordination.coordinator or second.start != coordination.coordinator + 1:
        return APART
    one, two = (words[span.start : span.end] for span in coordination.conjuncts)
    if not (is_worded(one) and is_worded(two)):
        return UNWORDED
    return EQUAL if [w.lower() for w in one] == [w.lower() for w in two] else None


def hidden_conjuncts(source: SourceSentence, coordination: Coordination) -> tuple[Hidden, Hidden]:
    """The second conjunct hidden and the first shown, and the other way round.

    Args:
        source: the sentence.
        coordination: one of two conjuncts that touch the coordinator, in it.
    """
    first, second = coordination.conjuncts
    text = join_words(source.words)

    def hide(hidden: Span, shown: Span, cut: Span) -> Hidden:
        rest = (*source.words[: cut.start], *source.words[cut.end :])
        begin = shown.start - (len(cut) if shown.start > cut.start else 0)
        span = Span(begin, begin + len(shown))
        return Hidden(
            Reference(source.sentence_id, rest, span, coordination.label, source.license),
            coordination.word,
            text.slice(hidden.start, hidden.end),
        )

    return (
        hide(second, first, Span(first.end, second.end)),
        hide(first, second, Span(first.start, second.start)),
    )

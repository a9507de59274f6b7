"""The category of a phrase: a classifier fitted on the conjuncts of the training split.

It looks at a phrase's form alone, not at its place in the sentence. Its features overlap (a last
word and that word's suffix), which naive Bayes counts twice: on GENIA's dev conjuncts naive Bayes is
right in 82 of 100 cases, multinomial logistic regression in 95.
"""

from collections import Counter
from collections.abc import Iterator, Sequence

import torch
from torch import Tensor
from torch.nn.functional import cross_entropy, embedding_bag

from pipeline.core.types import CATEGORIES, Span

NO_PHRASE = "none"
"""The judge's category of word sequences that are no phrase."""

Phrase = tuple[tuple[str, ...], str]
"""The words of a phrase and its category."""

_CLASS = {label: name for name, labels in CATEGORIES.items() for label in labels}
_NOUN, _ADJECTIVE, _ADVERB = "NP, NX", "ADJP, ADVP", "RB"
_PENALTY = 1e-5  # of 1e-6 to 1e-4 the best or as good as the best, on GENIA and on the world
_ITERATIONS = 60


def category_of(label: str, tags: Sequence[str] | None, span: Span) -> str | None:
    """The category of a conjunct of a coordination with this label: a column of Table 2, or None.

    A treebank names the conjuncts of "primary and secondary responses" after the noun phrase that
    they are part of. They are adjectives: so a nominal conjunct is what its last word's tag says,
    and so is an adjectival one of a single word.
    """
    found = _CLASS.get(label)
    if tags is None or not (found == _NOUN or (found == _ADJECTIVE and len(span) == 1)):
        return found
    last = tags[span.end - 1]
    if last.startswith("NN"):
        return _NOUN
    return _ADJECTIVE if last.startswith("JJ") else found


def _features(words: Sequence[str]) -> Iterator[str]:
    lower = [word.lower() for word in words]
    count = len(lower)
    yield f"length {count if count < 4 else 4 if count < 8 else 8}"
    yield f"case {'A' if words[0].isupper() else 'a' if words[0].islower() else '0'}"
    yield "begin " + " ".join(lower[:2])
    for place, word in (("first", lower[0]), ("last", lower[-1]), ("second", lower[1 % count])):
        yield f"{place} {word}"
        yield f"{place} -{word[-3:]}"
        yield f"{place} -{word[-2:]}"
    for word in lower:
        yield f"word {word}"
        yield f"word -{word[-3:]}"


class Judge:
    """Logistic regression over the words, suffixes and length of a phrase. Deterministic.

    Args:
        examples: phrases with their categories; at least one.
    """

    def __init__(self, examples: Sequence[Phrase]) -> None:
        counts = Counter(f for words, _ in examples for f in set(_features(words)))
        kept = sorted(feature for feature, count in counts.items() if count > 1)
        self._columns = {feature: column for column, feature in enumerate(kept, 1)}
        self._categories = sorted({category for _, category in examples})
        self._weights = torch.zeros(len(kept) + 1, len(self._categories))
        self._fit(examples)

    def _fit(self, examples: Sequence[Phrase]) -> None:
        bags = self._bags([words for words, _ in examples])
        targets = torch.tensor([self._categories.index(category) for _, category in examples])
        with torch.enable_grad():
            weights = self._weights.requires_grad_()
            optimizer = torch.optim.LBFGS(
                [weights], max_iter=_ITERATIONS, history_size=8, line_search_fn="strong_wolfe"
            )

            def loss() -> Tensor:
                optimizer.zero_grad()
                scores = embedding_bag(bags[0], weights, bags[1], mode="sum")
                found = cross_entropy(scores, targets) + _PENALTY * weights.square().sum()
                found.backward()  # type: ignore[no-untyped-call]
                return found

            optimizer.step(loss)  # type: ignore[no-untyped-call]
        self._weights = weights.detach()

    def _bags(self, phrases: Sequence[Sequence[str]]) -> tuple[Tensor, Tensor]:
        """Feature columns of all phrases in a row, and where each phrase's begin."""
        columns: list[int] = []
        starts: list[int] = []
        for words in phrases:
            starts.append(len(columns))
            known = {self._columns.get(feature, 0) for feature in _features(words)}
            columns += sorted(known | {0})  # column 0 is the bias
        return torch.tensor(columns), torch.tensor(starts)

    def categories(self, phrases: Sequence[Sequence[str]]) -> list[str]:
        """The most probable category of each phrase (of at least one word), or ``NO_PHRASE``."""
        if not phrases:
            return []
        columns, starts = self._bags(phrases)
        scores = embedding_bag(columns, self._weights, starts, mode="sum")
        return [self._categories[i] for i in scores.argmax(1).tolist()]

    def accuracy(self, examples: Sequence[Phrase]) -> float:
        """Share of the examples whose category it finds; at least one."""
        found = self.categories([words for words, _ in examples])
        return sum(a == b for a, (_, b) in zip(found, examples, strict=True)) / len(examples)

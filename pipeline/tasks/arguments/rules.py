"""A floor for models of Japanese arguments: rules over particles and bunsetsu, with nothing learned.

The subject is the nearest bunsetsu with が that depends on the predicate; else such a one with は or も; else
the noun that the predicate modifies; else the word before the first は or が of the sentence, up to the
predicate. Objects are the nearest dependents with を and に. A bunsetsu's particle is the first one after its
head word, and it is the head word that is chosen.

Of all verbal predicates of the Wikipedia Annotated Corpus they reach F1 13.4 of ZAR, 81.1 of DEP and 73.6 of
all.
"""

from collections.abc import Sequence

from pipeline.core.predicates import ROLES
from pipeline.core.types import Span
from pipeline.tasks.arguments.predicates import Clause

_CASES = dict(zip(ROLES, "がをに", strict=True))
_TOPICS = frozenset("はも")
_SUBJECTS = frozenset("はが")
_PARTICLE, _NOUN = "助詞", "名詞"
_FUNCTIONAL = frozenset({_PARTICLE, "特殊", "助動詞", "判定詞", "接尾辞"})


def by_rules(clause: Clause) -> dict[str, int]:
    """The words that the rules choose for a predicate, by role.

    Raises:
        ValueError: the sentence has no word classes of JUMAN.
    """
    words, tags, predicate = clause.words, clause.tags, clause.predicate
    if tags is None:
        raise ValueError(f"{clause.sentence_id}: the rules go by word classes, and there are none")
    before = [span for span in predicate.tied if span.end <= predicate.phrase.start]
    after = [span for span in predicate.tied if span.start >= predicate.phrase.end]
    particles = {span: _particle(words, tags, span) for span in before}
    found: dict[str, int] = {}
    for role, case in _CASES.items():
        for span in before:  # the nearest is the last
            if particles[span] == case:
                found[role] = _head(tags, span)
    subject = ROLES[0]
    if subject not in found:
        topics = [span for span in before if particles[span] in _TOPICS]
        modified = [head for span in after[:1] if tags[head := _head(tags, span)] == _NOUN]
        first = _first_subject(words, tags, predicate.phrase.start)
        for word in (*(_head(tags, span) for span in topics[-1:]), *modified, first):
            if word is not None:
                found[subject] = word
                break
    return found


def _head(tags: Sequence[str], span: Span) -> int:
    """The last word with content; else the first."""
    content = [i for i in range(span.start, span.end) if tags[i] not in _FUNCTIONAL]
    return content[-1] if content else span.start


def _particle(words: Sequence[str], tags: Sequence[str], span: Span) -> str | None:
    """The first particle after the head word."""
    behind = range(_head(tags, span) + 1, span.end)
    return next((words[i] for i in behind if tags[i] == _PARTICLE), None)


def _first_subject(words: Sequence[str], tags: Sequence[str], end: int) -> int | None:
    """The word with content before the first は or が of the words up to ``end``; None: there is none."""
    for place in range(end):
        if words[place] in _SUBJECTS and tags[place] == _PARTICLE:
            content = (i for i in reversed(range(place)) if tags[i] not in _FUNCTIONAL)
            if (found := next(content, None)) is not None:
                return found
    return None

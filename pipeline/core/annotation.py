"""What people had annotated for a result: the record that travels from a parser to the tables.

A predictor of L's boundaries and one whose candidates a parser of L's trees made are not of equal annotation.
So whoever learns from gold annotation, or chooses an epoch or a setting by it, writes a ``Part`` for each set
of sentences; whoever uses its output joins that record to its own. Parsers, trees, candidates, harvests, runs
and releases carry the record, tables show it, and a gain is a difference between rows of equal ``level``.
"""

import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, Literal

from pydantic import BaseModel, ConfigDict, Field

from pipeline.core.documents import Count, PlaceName
from pipeline.core.types import Sentence

LABELLED: Final = "labelled"
VALIDATION: Final = "validation"
OTHERS: Final = "others"
UNKNOWN: Final = "unknown"


class Part(BaseModel):
    """What was annotated of one set of sentences, and what for.

    Attributes:
        corpus: the treebank; of a ready model, its name.
        part: L, the validation sentences of its draw, other sentences of the treebank, or what a ready
            model learned from, which nothing here knows.
        draw: of L or its validation sentences, ``250/seed-0``.
        ids: of other sentences, what tells one set from another.
        split: of the treebank.
        use: learned from, or epochs and settings chosen by it alone.
        sentences: how many.
        boundaries: those of them whose coordinations were read.
        trees: those whose trees were read, and so their coordinations as well.
        coordinations: evaluable ones in them.
        pairs: those of them that are argument pairs, whose senses were read.
        predicates: those in them whose arguments were read.
        questions: those of them that are questions, whose answers were read.
        among: how many of them are L's or validation sentences of the corpus's draws, by draw.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    corpus: PlaceName
    part: Literal["labelled", "validation", "others", "unknown"]
    draw: PlaceName | None = None
    ids: PlaceName | None = None
    split: PlaceName = "train"
    use: Literal["learned", "chosen"] = "learned"
    sentences: Count = 0
    boundaries: Count = 0
    trees: Count = 0
    coordinations: Count = 0
    pairs: Count = 0
    predicates: Count = 0
    questions: Count = 0
    among: dict[PlaceName, Count] = Field(default_factory=dict)

    @property
    def key(self) -> tuple[str, str, str, str]:
        """What set of sentences it is of."""
        return self.corpus, self.part, self.draw or "", self.ids or ""


Annotation = tuple[Part, ...]
"""A record: at most one part of each set, in the order of their keys."""


def of_draw(
    corpus: str, draw: str, labelled: Sequence[Sentence], validation: Sequence[Sentence], *, trees: bool
) -> Annotation:  # fmt: skip
    """The record of who learns from L and chooses by its validation sentences.

    Args:
        corpus: its name.
        draw: ``250/seed-0``.
        labelled: L.
        validation: of the same draw.
        trees: whether trees are read, or boundaries alone.
    """
    return joined(
        [
            part_of(corpus, LABELLED, labelled, trees=trees, draw=draw),
            part_of(corpus, VALIDATION, validation, trees=trees, draw=draw, use="chosen"),
        ]
    )


def part_of(
    corpus: str,
    part: Literal["labelled", "validation", "others"],
    sentences: Sequence[Sentence],
    *,
    trees: bool,
    draw: str | None = None,
    use: Literal["learned", "chosen"] = "learned",
    draws: Mapping[str, Iterable[str]] | None = None,
) -> Part:
    """The part of some sentences with gold annotation.

    Args:
        corpus: its name.
        part: what they are.
        sentences: all of one split.
        trees: whether their trees are read, or the boundaries of their coordinations alone.
        draw: of L or its validation sentences.
        use: what for.
        draws: ids of the sentences of each draw of the corpus, to count those among these.
    """
    own = {sentence.sentence_id for sentence in sentences}
    among = {name: len(own.intersection(ids)) for name, ids in (draws or {}).items()}
    return Part(
        corpus=corpus,
        part=part,
        draw=draw,
        ids=_digest(own) if part == OTHERS else None,
        split=sentences[0].split if sentences else "train",
        use=use,
        sentences=len(sentences),
        boundaries=len(sentences),
        trees=sum(sentence.tree is not None for sentence in sentences) if trees else 0,
        coordinations=sum(len(s.evaluable) for s in sentences),
        among={name: count for name, count in sorted(among.items()) if count},
    )


def unknown(name: str) -> Annotation:
    """The record of a ready model, or of an earlier version's output, which does not say it."""
    return (Part(corpus=name, part=UNKNOWN),)


def recorded(document: Mapping[str, Any], name: str) -> Annotation:
    """The record of a document whose form has been checked; not known where it has none.

    Args:
        document: with ``as_json`` under the key ``annotation``, or of an earlier version.
        name: of what it is about.
    """
    return from_json(document["annotation"]) if "annotation" in document else unknown(name)


def place_name(folder: Path) -> str:
    """What is not known is called by its folder, alike for all seeds: ``attested-bert-sync``."""
    return name_of_place(folder.resolve().parts)


def name_of_place(parts: Sequence[str]) -> str:
    """The last part of a path that names neither a seed nor a draw, as ``NAME/250/seed-0`` does."""
    kept = list(parts)
    if len(kept) > 1 and kept[-1].startswith("seed-"):
        kept.pop()
        if len(kept) > 1 and (kept[-1].isdecimal() or kept[-1] == "full"):
            kept.pop()
    return kept[-1]


def _digest(ids: Iterable[str]) -> str:
    return hashlib.sha256("\n".join(sorted(ids)).encode()).hexdigest()[:8]


_COUNTED = ("sentences", "boundaries", "trees", "coordinations", "pairs", "predicates", "questions")


def joined(parts: Iterable[Part]) -> Annotation:
    """The union of records: of one set the most that anybody read of it."""
    found: dict[tuple[str, ...], Part] = {}
    for part in parts:
        other = found.get(part.key, part)
        found[part.key] = part.model_copy(
            update={name: max(getattr(part, name), getattr(other, name)) for name in _COUNTED}
            | {"use": "learned" if "learned" in (part.use, other.use) else "chosen"}
            | {"among": dict(sorted({**other.among, **part.among}.items()))}
        )
    return tuple(found[key] for key in sorted(found))


def level(annotation: Iterable[Part]) -> tuple[tuple[str, ...], ...]:
    """What rows must have in common to be compared: the record without seeds and single sentences."""
    return tuple(
        sorted(
            (
                part.corpus,
                part.part,
                (part.draw or "").partition("/")[0] or str(part.sentences),
                "trees" if part.trees else "boundaries",
                part.use if part.part == OTHERS else "",
            )
            for part in annotation
        )
    )


def rests_on_other_trees(own: Iterable[tuple[str, ...]]) -> bool:
    """Whether trees of other sentences than a draw's were learned from, by a ``level``."""
    return any({OTHERS, "trees", "learned"} <= {*part} for part in own)


def shared_level(records: Mapping[int, Annotation]) -> tuple[tuple[str, ...], ...]:
    """The level of a system whose seeds have these records.

    Of records that differ it tells the level of each seed: a mean over such seeds is of one level only with
    that of a system which differs in the same way.
    """
    levels = {seed: level(record) for seed, record in records.items()}
    if len(set(levels.values())) == 1:
        return next(iter(levels.values()))
    return tuple(sorted((f"seed-{s}", *part) for s, each in levels.items() for part in each))


def described(annotation: Sequence[Part], corpus: str) -> str:
    """The record in words, for a table's column: ``trees of 250 + 50; trees of 2,500 others``.

    What stands behind a plus sign was not learned from: it chose epochs or settings.

    Args:
        annotation: at least one part.
        corpus: the one that the table is of, which is not named.
    """

    def whose(name: str) -> str:
        return "" if name == corpus else f" of {name}"

    drawn: dict[tuple[str, str], dict[str, Part]] = {}
    for part in annotation:
        if part.part in (LABELLED, VALIDATION):
            drawn.setdefault((part.corpus, part.draw or ""), {})[part.part] = part
    texts = [
        f"{_of_one_draw(parts)}{whose(name)}"
        for (name, _), parts in sorted(
            drawn.items(), key=lambda item: (item[0][0] != corpus, item[0][0], _size(item[1]))
        )
    ]
    others = [part for part in annotation if part.part == OTHERS]
    for (name, kind), group in _grouped(others).items():
        texts.append(f"{kind} of {' + '.join(group)} others{whose(name)}")
    texts += [
        f"what {part.corpus} learned from (not known)"
        for part in annotation
        if part.part == UNKNOWN
    ]
    return "; ".join(texts)


def of_seeds(texts: Iterable[str]) -> str:
    """Records of one system's seeds in words: numbers that differ as ranges, ``senses of 455 to 672 others``.

    Args:
        texts: of ``described``, at least one; those that differ in more than numbers are all named.
    """
    found = list(dict.fromkeys(texts))
    if len({_NUMBER.sub("", each) for each in found}) > 1:
        return " or ".join(found)
    numbers = zip(*(_NUMBER.findall(each) for each in found), strict=True)
    ranges = [sorted(set(each), key=lambda n: int(n.replace(",", ""))) for each in numbers]
    shown = (each[0] if len(each) == 1 else f"{each[0]} to {each[-1]}" for each in ranges)
    return _NUMBER.sub(lambda _: next(shown), found[0])


_NUMBER = re.compile(r"\d[\d,]*")


def _size(parts: Mapping[str, Part]) -> int:
    return parts[LABELLED].sentences if LABELLED in parts else 0


def _of_one_draw(parts: Mapping[str, Part]) -> str:
    """``trees of 250 + 50``, ``trees of 250 + boundaries of 50``; of validation alone ``trees of 0 + 50``."""
    kind, checked = _kind(parts.get(LABELLED) or parts[VALIDATION]), ""
    if VALIDATION in parts:
        other = _kind(parts[VALIDATION])
        checked = f" + {'' if other == kind else f'{other} of '}{parts[VALIDATION].sentences:,}"
    return f"{kind} of {_size(parts):,}{checked}"


def _kind(part: Part) -> str:
    if part.pairs:
        return "senses"
    if part.predicates:
        return "arguments"
    if part.questions:
        return "answers"
    return "trees" if part.trees else "boundaries"


def _grouped(others: Sequence[Part]) -> dict[tuple[str, str], list[str]]:
    """Numbers of sentences learned from, then of those chosen by, by corpus and kind."""
    counts: Counter[tuple[str, str, str]] = Counter()
    for part in others:
        counts[part.corpus, _kind(part), part.use] += part.sentences
    grouped: dict[tuple[str, str], list[str]] = {}
    for (name, kind, _), count in sorted(counts.items(), key=lambda item: item[0], reverse=True):
        grouped.setdefault((name, kind), []).append(f"{count:,}")
    return grouped


def as_json(annotation: Iterable[Part]) -> list[dict[str, Any]]:
    """What is written under the key ``annotation`` of a document; ``Part`` is the form of its entries."""
    return [part.model_dump(mode="json", exclude_defaults=True) for part in annotation]


def from_json(entries: Iterable[Mapping[str, Any]]) -> Annotation:
    """The record of a document whose form has been checked (``list[Part]``)."""
    return joined(Part.model_validate(entry) for entry in entries)

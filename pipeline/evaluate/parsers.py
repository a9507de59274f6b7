"""The parsers whose structures become rows: where they lie, and what they find."""

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from pathlib import Path

from nltk.tree import Tree

from pipeline.core.cards.parser import ParserCard
from pipeline.core.documents import read_json
from pipeline.core.errors import InputError
from pipeline.core.names import is_plain_name, nearest
from pipeline.core.types import COORDINATORS, Coordination, Sentence
from pipeline.parsing.card import learned_from, says_what_it_learned
from pipeline.parsing.parser import CARD, REMEDY, Parser, tags_for
from pipeline.text.coordinations import as_read, ptb_coordinations

OF_CORPUS = "corpus"
"""In place of a name: the parser that ``preparse`` without a name left in CORPUS/parser."""

_PARSERS = "parsers"  # folder in a corpus of those with a name

Draw = tuple[str, int]
"""The name of a draw of L, ``250`` or ``full``, and its seed."""


@dataclass(frozen=True, slots=True)
class PlacedParser:
    """A parser, by the name that rows have.

    Attributes:
        name: a plain one.
        folder: where it and its card lie.
        draw: the draw whose runs it goes with; None: it goes with all.
    """

    name: str
    folder: Path
    draw: Draw | None

    @property
    def shown(self) -> str:
        """Its name, and its draw if it has one."""
        return self.name if self.draw is None else f"{self.name}-{self.draw[0]}-{self.draw[1]}"

    def goes_with(self, draw: Draw) -> bool:
        """Whether it stands beside the runs of a draw."""
        return self.draw in (None, draw)


def find_parsers(corpus: Path, given: str) -> list[PlacedParser]:
    """The parsers that a name or a folder stands for, in the order of their draws; at least one.

    Raises:
        InputError: there is none.
    """
    if given == OF_CORPUS:
        return [_require(PlacedParser(OF_CORPUS, corpus / "parser", None))]
    named = corpus / _PARSERS / given
    if is_plain_name(given) and named.is_dir():
        folder = named
    elif Path(given).is_dir():
        folder = Path(given)
    else:
        known = sorted(path.name for path in (corpus / _PARSERS).glob("*") if path.is_dir())
        raise InputError(
            f"no parser {given!r}: neither a name in {_PARSERS}/ nor a folder", path=corpus,
            remedy="; ".join(filter(None, (
                nearest(given, [OF_CORPUS, *known]),
                f"there are: {', '.join([OF_CORPUS, *known])}",
            ))),
        )  # fmt: skip
    name = _name_of(folder)
    if (folder / CARD).is_file():
        return [PlacedParser(name, folder, None)]
    if (folder / "parser" / CARD).is_file():  # a corpus that lends its own
        return [PlacedParser(name, folder / "parser", None)]
    found = [
        PlacedParser(name, card.parent, draw)
        for card in sorted((*folder.glob(f"*/seed-*/{CARD}"), *folder.glob(f"seed-*/{CARD}")))
        if (draw := _draw_of(card, folder))
    ]
    if not found:
        raise InputError("no parser here", path=folder, remedy=f"{REMEDY} --name")
    return found


def _require(parser: PlacedParser) -> PlacedParser:
    if not (parser.folder / CARD).is_file():
        raise InputError("this corpus has no parser", path=parser.folder, remedy=REMEDY)
    return parser


def _name_of(folder: Path) -> str:
    own = folder.resolve()
    parts = [own.name]
    while parts[0] == "parser" or re.fullmatch(r"seed-\d+|\d+|full", parts[0]):
        own = own.parent
        parts.insert(0, own.name)
    name = "-".join(part for part in parts if part != "parser")
    if not is_plain_name(name):
        raise InputError(
            f"{name[:80]!r} cannot be the name of a row", path=folder,
            remedy="call the folder by letters, digits, _, -, + and .",
        )  # fmt: skip
    return name


def _draw_of(card: Path, root: Path) -> Draw | None:
    """The draw of a parser in ``DRAW/seed-S``, or in harvest's ``seed-S``, whose card says which."""
    seed = card.parent.name.removeprefix("seed-")
    if not seed.isdecimal():
        return None
    if card.parent.parent != root:
        return card.parent.parent.name, int(seed)
    about: ParserCard = read_json(
        card,
        ParserCard,
        remedy="train it again, or name its folder",
        needs=["about.settings.labelled"],
    )
    return about["about"]["settings"]["labelled"], int(seed)


def seen_by(parser: PlacedParser, sentences: Sequence[Sentence]) -> int | None:
    """How many of some sentences it learned from or chose its epoch by; None where nothing says that.

    Of a ready parser nothing is known, which counts as none.

    Raises:
        InputError: what says it is not what was written.
    """
    if not says_what_it_learned(parser.folder):
        return None
    learned = learned_from(parser.folder)
    return sum(sentence.sentence_id in learned for sentence in sentences)


@dataclass(frozen=True, slots=True)
class ParsedStructures:
    """What a parser finds: of each sentence its structures by their coordinators.

    Attributes:
        found: in the order of the sentences; of one without a tree, none.
        unparsed: why sentences have no tree, and how many each.
    """

    found: Sequence[Mapping[int, Coordination]]
    unparsed: Mapping[str, int]


def _nobody(sentences: int, words: int) -> None:
    del sentences, words


def structures_of(
    parser: Parser,
    sentences: Sequence[Sentence],
    on_batch: Callable[[int, int], None] = _nobody,
) -> ParsedStructures:
    """The structures that a parser finds in sentences, as ``harvest`` reads its trees.

    One that was trained with the treebank's tags is given those. ``on_batch`` is told of each batch the
    sentences parsed, and their words.

    Raises:
        InputError: it needs tags, and a sentence has none.
    """
    tags = tags_for(parser, sentences)
    known = sentences[0].coordinators if sentences else COORDINATORS  # they are of one corpus
    return structures_in(parser, [s.words for s in sentences], tags, on_batch, known)


def structures_in(
    parser: Parser,
    sentences: Sequence[Sequence[str]],
    tags: Sequence[Sequence[str]] | None = None,
    on_batch: Callable[[int, int], None] = _nobody,
    coordinators: AbstractSet[str] = COORDINATORS,
) -> ParsedStructures:
    """The same of words.

    Raises:
        ModelError: it needs tags, and there are none.
    """
    found: list[Mapping[int, Coordination]] = []
    unparsed = Counter[str]()
    for parsed in parser.outcomes(sentences, tags, on_batch=on_batch):
        if parsed.tree is None:
            unparsed[parsed.reason or "no tree found"] += 1
            found.append({})
        else:
            found.append(structures_in_tree(parsed.tree, coordinators))
    return ParsedStructures(found, dict(unparsed))


def structures_in_tree(
    tree: Tree, coordinators: AbstractSet[str] = COORDINATORS
) -> dict[int, Coordination]:
    """The structures of a parser's tree, by their coordinators."""
    found = ptb_coordinations(as_read(tree, coordinators))
    return {each.coordinator: each for each in found}

"""Which parser a folder has: its card, what tells it from others, and the sentences that it learned from.

A corpus's own lies in ``CORPUS/parser``, and ``parser.json`` there says which it is: trained here, lent by
another corpus, or ready.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import stanza

from pipeline.core.cards.parser import Learned, ParserCard
from pipeline.core.documents import read_json
from pipeline.core.errors import InputError, ModelError
from pipeline.core.files import digest_of, sha256_of
from pipeline.core.names import is_plain_name
from pipeline.parsing.encoders import ENCODER
from pipeline.parsing.parser import CARD, REMEDY, Parser, file_name, load_parser
from pipeline.parsing.tagging import TAGGER
from pipeline.parsing.training import MODEL, PRETRAIN

TREEBANK = "treebank"
"""In place of a parser: the corpus's own trees."""

LEARNED = "learned.json"
"""File beside a parser trained here: which sentences it learned from, in the form of ``Learned``."""


def read_card(folder: Path) -> ParserCard:
    """The card of the parser of a folder; one that was lent is still the one that it was.

    Raises:
        InputError: there is no parser, its card is damaged, or what was lent is gone or another one now.
    """
    card: ParserCard = read_json(folder / CARD, ParserCard, remedy=REMEDY)
    lent = card.get("lent")
    if lent is None:
        return card
    again = f"{REMEDY} again, with the --parser that it is to be"
    if not Path(card["source"]).is_file():
        raise InputError(
            f"the parser that was lent is not there: {card['source']}", path=folder / CARD,
            remedy=f"run this where preparse ran, or {again}",
        )  # fmt: skip
    if parser_identity(card)["sha256"] != lent:
        raise InputError(
            f"the parser that was lent is another one by now: {card['source']}", path=folder / CARD,
            remedy=again,
        )  # fmt: skip
    return card


def learned_from(folder: Path) -> frozenset[str]:
    """Ids of the sentences that the parser of a folder learned from, gold or not, or chose its epoch by.

    Of a ready one none is known.

    Args:
        folder: such as CORPUS/parser.

    Raises:
        InputError: as ``what_it_learned``.
    """
    found = what_it_learned(folder)
    if not found:
        return frozenset()
    return frozenset((*found["trees"], *found["dev"], *found.get("taught", ())))


def what_it_learned(folder: Path) -> Learned | None:
    """The same apart, by what for; None of a ready parser, of which nothing is known.

    Raises:
        InputError: there is no parser, an earlier version trained it and did not say, or the file is
            not the one that was written.
    """
    place, card = _trained(folder)
    if card is None:
        return None
    known = card.get("files", {})
    if LEARNED not in known:
        raise InputError(
            "nothing says which sentences this parser learned from", path=place,
            remedy="run `conjoin preparse` again in its corpus, which writes it down",
        )  # fmt: skip
    path = place / LEARNED
    if not path.is_file() or sha256_of(path) != known[LEARNED]["sha256"]:
        raise InputError(
            f"not the file that {CARD} beside it lists", path=path,
            remedy="run `conjoin preparse` again",
        )  # fmt: skip
    found: Learned = read_json(path, Learned)
    return found


def where_trained(folder: Path) -> Path:
    """The folder in which a folder's parser was trained: itself, or that of another corpus that lends it.

    Raises:
        InputError: there is no parser, or a card is damaged.
    """
    return _trained(folder)[0]


def says_what_it_learned(folder: Path) -> bool:
    """Whether something does; an earlier version did not. A ready parser learned from nothing known.

    Raises:
        InputError: there is no parser, or a card is damaged.
    """
    card = _trained(folder)[1]
    return card is None or LEARNED in card.get("files", {})


def is_taught(folder: Path) -> bool:
    """Whether a folder's parser learned from candidates' sentences beside gold trees (``preparse --also``).

    Of one that another folder lends, that one's card says so; of a ready one nothing is known.

    Raises:
        InputError: there is no parser, or a card is damaged.
    """
    card = _trained(folder)[1]
    return bool(card and (card["training"] or {}).get("taught"))


def _trained(folder: Path) -> tuple[Path, ParserCard | None]:
    """Where the parser of a folder was trained, the folder itself or a lender's, and the card there.

    No card: it is a ready one.
    """
    card = read_card(folder)
    if "files" in card:
        return folder, card
    place = Path(card["source"]).parent
    if not card["source"].endswith(".pt") or not (place / CARD).is_file():
        return folder, None
    lender: ParserCard = read_json(place / CARD, ParserCard, remedy=REMEDY)
    return place, lender


def source_of(given: str) -> str:
    """What stanza is to load; for the folder of another corpus what its own parser is loaded from.

    Raises:
        InputError: there is no such corpus, or it has no parser.
        ModelError: it took the treebank's own trees.
    """
    corpus = Path(given)
    if not corpus.is_dir():
        if "/" in given and not given.endswith(".pt"):
            raise InputError(
                "no such corpus folder",
                path=corpus,
                remedy="name the folder of a corpus with a parser, a .pt file or a stanza package",
            )
        return given
    if not (corpus / "parser" / CARD).is_file():
        raise InputError(
            "this corpus has no parser", path=corpus, remedy=f"{REMEDY} there, with --parser train"
        )
    return loaded_from(corpus / "parser", lent=True)


def loaded_from(folder: Path, *, lent: bool = False) -> str:
    """What stanza is to load; a corpus that lends its parser may name no file but its own.

    Raises:
        InputError: preparse has not run, or the card names what it may not.
        ModelError: it took the treebank's own trees.
    """
    card = read_card(folder)
    source = str(card["source"])
    if source == TREEBANK:
        raise ModelError(
            "this corpus took its trees from the treebank and has no parser",
            path=folder,
            remedy=f"{REMEDY} with --parser train",
        )
    if "files" in card:
        return str(folder / MODEL)
    own = source.endswith(".pt") and Path(source).resolve().is_relative_to(folder.resolve())
    package = is_plain_name(source) and not source.endswith(".pt")
    if lent and not own and not package:
        raise InputError(
            f"this corpus's parser is {source[:80]!r}, which is neither a file in its folder nor a "
            "stanza package",
            path=folder / CARD,
            remedy="if you trust it, name it yourself with --parser",
        )
    return source


def parser_identity(card: Mapping[str, Any]) -> dict[str, str | None]:
    """What tells two parsers apart: the ``name`` that stands beside their trees, and a ``sha256``.

    Raises:
        InputError: the card names a file that is not there.
    """
    source = str(card["source"])
    if "files" in card:
        sums = {name: str(facts["sha256"]) for name, facts in card["files"].items()}
        digest = sums[MODEL]
        if encoder := {name: sums[name] for name in sums if name.startswith(f"{ENCODER}/")}:
            digest = digest_of({MODEL: digest, **encoder})
        return {"name": f"stanza:train:{digest[:8]}", "sha256": digest}
    if source.endswith(".pt"):
        path = Path(source)
        if not path.is_file():
            raise InputError("no such file", path=path, remedy="name a stanza .pt file")
        beside = (path, path.with_name(PRETRAIN), path.with_name(CARD))
        there = [sha256_of(each) for each in beside if each.exists()]
        return {"name": file_name(path), "sha256": digest_of(there)}
    if source == TREEBANK:
        return {"name": source, "sha256": None}
    package = Path(stanza.resources.common.DEFAULT_MODEL_DIR, "en", "constituency", f"{source}.pt")
    return {"name": f"stanza:{source}", "sha256": sha256_of(package) if package.exists() else None}


def tagger_sum(folder: Path) -> str | None:
    """SHA-256 of the tagger that writes the tags of a folder's parser; None where none does.

    None does for a parser that was trained to read the treebank's tags, for the treebank's own trees, and
    for a ready parser.

    Raises:
        InputError: preparse has not run.
    """
    card = read_card(folder)
    source = str(card["source"])
    place = folder if "files" in card else Path(source).parent
    if not source.endswith(".pt") or not all((place / name).is_file() for name in (CARD, TAGGER)):
        return None
    own = read_json(place / CARD, ParserCard, remedy=REMEDY)
    read = (own["training"] or {}).get("tags") == "treebank"
    return None if read else sha256_of(place / TAGGER)


def corpus_parser(folder: Path) -> Parser:
    """The parser of a folder, such as the one that ``preparse`` used in CORPUS/parser.

    Raises:
        InputError: preparse has not run.
        ModelError: it took the treebank's own trees, or the parser cannot be loaded.
    """
    return load_parser(loaded_from(folder))

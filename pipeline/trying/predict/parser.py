"""A parser that stands beside a predictor (``predict --parser``)."""

import shutil
from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from pathlib import Path

from pipeline.core.cards.parser import ParserCard
from pipeline.core.claims import atomic_folder
from pipeline.core.documents import read_json
from pipeline.core.errors import InputError, ModelError
from pipeline.core.types import COORDINATORS
from pipeline.trying.predict.answers import Parse, ParsedSentence


def parser_of(folder: Path, coordinators: AbstractSet[str] = COORDINATORS) -> Parse:
    """The parser of a folder, or of a corpus folder.

    Args:
        folder: its place.
        coordinators: words that its trees may be read at, in lower case: all that there are, for one that is
            none here does not part conjuncts.

    Raises:
        InputError: there is none.
        ModelError: it cannot be loaded, or reads part-of-speech tags, which text does not have.
    """
    # Stanza takes seconds, and not everybody asks for a parser.
    from pipeline.evaluate.parsers import structures_in_tree  # noqa: PLC0415
    from pipeline.parsing.card import corpus_parser  # noqa: PLC0415
    from pipeline.text.trees import constituents  # noqa: PLC0415

    parser = corpus_parser(_place(folder))
    if parser.needs_tags:
        raise ModelError(
            "this parser reads part-of-speech tags, which are not predicted here", path=folder,
            remedy="train one with --tags none",
        )  # fmt: skip

    def parse(sentences: Sequence[Sequence[str]]) -> list[ParsedSentence]:
        return [
            ParsedSentence(unparsed=parsed.reason or "no tree found")
            if parsed.tree is None
            else ParsedSentence(
                structures_in_tree(parsed.tree, coordinators), tuple(constituents(parsed.tree))
            )
            for parsed in parser.outcomes(sentences)
        ]

    return parse


def copy_parser(folder: Path, target: Path) -> None:
    """Copy a parser to a folder where it needs no other; the copy appears whole or not at all.

    Args:
        folder: as ``parser_of`` takes it.
        target: where it goes, which may be the same place.

    Raises:
        InputError: there is none, or a file is missing.
        ModelError: it was not trained here, so that nothing says which files it has.
    """
    from pipeline.parsing.card import loaded_from  # noqa: PLC0415
    from pipeline.parsing.parser import CARD, REMEDY  # noqa: PLC0415

    source = Path(loaded_from(_place(folder)))
    place = source.parent
    beside = source.suffix == ".pt" and (place / CARD).is_file()
    card: ParserCard | None = read_json(place / CARD, ParserCard, remedy=REMEDY) if beside else None
    if card is None or "files" not in card:
        raise ModelError(
            f"this parser cannot be saved with a pipeline: it is {source.name[:60]!r}", path=folder,
            remedy="name one that conjoin trained, or none",
        )  # fmt: skip
    with atomic_folder(target) as made:
        for name in (CARD, *card["files"]):
            file = place / name
            if not file.resolve().is_relative_to(place.resolve()) or not file.is_file():
                raise InputError(
                    f"a file of this parser is missing: {name[:60]!r}", path=place,
                    remedy="copy the whole folder again",
                )  # fmt: skip
            (made / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(file, made / name)


def _place(folder: Path) -> Path:
    from pipeline.parsing.parser import CARD  # noqa: PLC0415

    places = [place for place in (folder, folder / "parser") if (place / CARD).is_file()]
    if not places:
        raise InputError(
            "no parser here",
            path=folder,
            remedy="name the folder of one, or of a corpus that has one",
        )
    return places[0]

"""A parser that stands beside a predictor (``predict --parser``)."""

from collections.abc import Sequence
from pathlib import Path

from pipeline.core.errors import InputError, ModelError
from pipeline.trying.predict.answers import Parse, ParsedSentence


def parser_of(folder: Path) -> Parse:
    """The parser of a folder, or of a corpus folder.

    Raises:
        InputError: there is none.
        ModelError: it cannot be loaded, or reads part-of-speech tags, which text does not have.
    """
    # Stanza takes seconds, and not everybody asks for a parser.
    from pipeline.evaluate.parsers import structures_in_tree  # noqa: PLC0415
    from pipeline.parsing.card import corpus_parser  # noqa: PLC0415
    from pipeline.parsing.parser import CARD  # noqa: PLC0415
    from pipeline.text.trees import constituents  # noqa: PLC0415

    places = [place for place in (folder, folder / "parser") if (place / CARD).is_file()]
    if not places:
        raise InputError(
            "no parser here",
            path=folder,
            remedy="name the folder of one, or of a corpus that has one",
        )
    parser = corpus_parser(places[0])
    if parser.needs_tags:
        raise ModelError(
            "this parser reads part-of-speech tags, which are not predicted here", path=folder,
            remedy="train one with --tags none",
        )  # fmt: skip

    def parse(sentences: Sequence[Sequence[str]]) -> list[ParsedSentence]:
        return [
            ParsedSentence(unparsed=parsed.reason or "no tree found")
            if parsed.tree is None
            else ParsedSentence(structures_in_tree(parsed.tree), tuple(constituents(parsed.tree)))
            for parsed in parser.outcomes(sentences)
        ]

    return parse

"""The parser whose trees are harvested: the corpus's, one with a name, or one of L's trees, trained here."""

import re
from pathlib import Path

from pipeline.core.corpus_folder import PARSERS_FOLDER, parser_folder, require_tree_set
from pipeline.core.errors import InputError
from pipeline.harvest.settings import HarvestSettings
from pipeline.models.loading import locate_encoder
from pipeline.parsing.labelled import LabelledParser
from pipeline.parsing.parser import CARD


def parser_of(settings: HarvestSettings) -> Path:
    """The folder of the parser, which is trained if it is one of L's trees and must be.

    Raises:
        ModelError: there is no such language model.
        InputError: there are no trees of that name; L has no trees; for a dry run, which writes nothing: the
            parser of L's trees is not trained yet.
    """
    if settings.parser == "labelled":
        return _of_l(settings)
    if settings.named is not None:
        require_tree_set(settings.corpus, settings.named)
    return parser_folder(settings.corpus, settings.named)


def parser_kind(settings: HarvestSettings) -> str:
    """What tells a parser of L's trees, and what it harvests, from others of the seed."""
    tagged = "-tagged" * (settings.tags == "treebank")
    read = ""
    if settings.parser_lm is not None:  # a folder's own name, a hub name's without its owner
        read = "-" + re.sub(r"[^\w.+-]+", "-", settings.parser_lm.rstrip("/").rpartition("/")[2])
    return f"labelled-{settings.labelled}{tagged}{read}"


def _of_l(settings: HarvestSettings) -> Path:
    """The folder of the parser of L's trees, trained if it must be."""
    folder = settings.corpus / PARSERS_FOLDER / parser_kind(settings) / f"seed-{settings.seed}"
    encoder = None
    if settings.parser_lm is not None:
        encoder = locate_encoder(settings.parser_lm, settings.corpus, settings.seed)
    parser = LabelledParser(
        folder, settings.corpus, settings.labelled, settings, encoder,
        patience=settings.parser_patience,
    )  # fmt: skip
    if not settings.dry_run:
        parser.ensure()
    elif not parser.is_current():
        there = "another one is there, which a run would replace: " * (folder / CARD).is_file()
        raise InputError(
            f"{there}this parser of the labelled trees is not trained yet, and a dry run writes nothing",
            path=folder, remedy="run without --dry-run, or with --parser corpus",
        )  # fmt: skip
    return folder

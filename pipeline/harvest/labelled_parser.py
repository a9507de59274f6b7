"""A parser trained on the trees of L alone: what natural text yields without annotation beyond L."""

from pathlib import Path

from pipeline.core.corpus_folder import SENTENCES_FILE, draw_file
from pipeline.core.draws import read_draw
from pipeline.core.errors import InputError
from pipeline.core.files import sha256_of
from pipeline.core.fingerprint import Fingerprint, versions_of
from pipeline.core.types import Sentence
from pipeline.harvest.settings import Harvest
from pipeline.models.loading import identity, locate_lm
from pipeline.parsing.making import ALGORITHM, ensure_trained, made_by_one, parser_output

PARSERS_FOLDER = "parsers"
"""Folder in a corpus of the parsers trained on draws of L."""


def parser_name(settings: Harvest) -> str:
    """What tells a parser of L's trees, and what it harvests, from others of the seed."""
    tagged = "-tagged" * (settings.tags == "treebank")
    read = f"-{settings.parser_lm}" * (settings.parser_lm is not None)
    return f"labelled-{settings.labelled}{tagged}{read}"


def labelled_parser(settings: Harvest) -> Path:
    """The folder of the parser of L's trees, trained if it must be.

    Its epoch is chosen by the validation sentences of the draw.

    Raises:
        ModelError: the corpus has no such language model.
        InputError: L has no trees; for a dry run, which writes nothing: it is not trained yet.
    """
    folder = settings.corpus / PARSERS_FOLDER / parser_name(settings) / f"seed-{settings.seed}"
    encoder = None
    if settings.parser_lm is not None:
        encoder = locate_lm(settings.parser_lm, None, settings.corpus, settings.seed)
    fingerprint = _fingerprint(settings, encoder)
    if settings.dry_run:
        if parser_output(folder, fingerprint).state().kind != "current":
            raise InputError(
                "the parser of the labelled trees is not trained yet, and a dry run writes nothing",
                path=folder, remedy="run without --dry-run, or with --parser corpus",
            )  # fmt: skip
        return folder
    made_by_one(
        folder,
        settings.threads,
        lambda: ensure_trained(folder, fingerprint, settings, lambda: _examples(settings), encoder),
    )
    return folder


def _fingerprint(settings: Harvest, encoder: str | None) -> Fingerprint:
    fields = {"labelled", "parser_epochs", "parser_hidden", "seed", "tags", "threads"}
    draw = settings.corpus / draw_file(settings.seed, settings.labelled)
    return Fingerprint(
        settings=settings.model_dump(mode="json", include=fields),
        inputs={
            "sentences": sha256_of(settings.corpus / SENTENCES_FILE),
            "draw": sha256_of(draw),
            "encoder": encoder and identity(encoder),
        },
        algorithm=ALGORITHM,
        versions=versions_of("stanza", "torch"),
    )


def _examples(settings: Harvest) -> tuple[list[Sentence], list[Sentence]]:
    drawn, validation = (
        [sentence for sentence in part if sentence.tree is not None]
        for part in read_draw(settings.corpus, settings.seed, settings.labelled)
    )
    if not drawn or not validation:
        raise InputError(
            "the labelled sentences have no trees, so no parser can be trained on them",
            path=settings.corpus / draw_file(settings.seed, settings.labelled),
            remedy="harvest with --parser corpus, after `conjoin preparse --parser` with another "
            "corpus or a stanza package",
        )
    return drawn, validation

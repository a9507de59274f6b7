"""What an adaptation to twins learns from (``--objective twins``)."""

from pipeline.ground.errors import InputError
from pipeline.ground.files import sha256_of
from pipeline.ground.parquet import MANIFEST
from pipeline.mechanisms.lmtwins import TwinMasks, TwinSpans, read_twins
from pipeline.mechanisms.material import (
    HELD_OUT,
    MOST_HELD_OUT,
    Base,
    Material,
    has_types,
    held_out_sentences,
)
from pipeline.settings.preparse import COORDINATED_FOLDER
from pipeline.settings.pretrain import Pretrain

__all__ = ["twin_material"]


def twin_material(settings: Pretrain, base: Base) -> Material:
    """Twins of the corpus's parsed coordinations; the last sentences' are held out.

    Raises:
        InputError: none were parsed, or not one is usable.
    """
    tokenizer = base[1]
    held_out = held_out_sentences(settings.corpus)
    if held_out is None:
        raise InputError(
            "no such file",
            path=settings.corpus / "sentences.parquet",
            remedy="run `conjoin ingest`",
        )
    limit = min(settings.max_length, tokenizer.model_max_length)
    twins = read_twins(
        settings.corpus, tokenizer, limit, held_out, drop=settings.held_out == "drop"
    )
    start = len(twins.items) - min(len(twins.items) // HELD_OUT, MOST_HELD_OUT)
    # A sentence's twins stay together: one shows what the other hides.
    while 0 < start < len(twins.items) and twins.sentences[start] == twins.sentences[start - 1]:
        start -= 1
    bert = settings.family == "bert"
    return Material(
        tokenizer=tokenizer,
        objective=TwinMasks(tokenizer, types=has_types(base)) if bert else TwinSpans(tokenizer),
        training=twins.items[:start],
        validation=twins.items[start:],
        unit="twins",
        tally=twins.tally,
        overlap=dict(twins.overlap),
        digest=sha256_of(settings.corpus / COORDINATED_FOLDER / MANIFEST),
    )

"""``conjoin pretrain``: a BERT or a T5 from a corpus's own training text, or a pointer to one."""

import os
from dataclasses import asdict
from pathlib import Path

import numpy as np
import torch
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from pipeline.ground.console import say, table
from pipeline.ground.errors import InputError
from pipeline.ground.files import atomic_folder, write_json
from pipeline.ground.tally import Tally
from pipeline.mechanisms.checkpoints import READY, locate
from pipeline.mechanisms.embeddings import embed_by_cooccurrence
from pipeline.mechanisms.initialisation import new_bert, new_t5
from pipeline.mechanisms.languagemodels import load_masked_lm, load_seq2seq_lm
from pipeline.mechanisms.lmbatches import (
    CorruptedSentence,
    MaskedPairs,
    Objective,
)
from pipeline.mechanisms.naturaltext import NaturalText, find_words
from pipeline.mechanisms.pretraining import Outcome, accelerator, pretrain
from pipeline.mechanisms.rawtext.store import encode_texts
from pipeline.mechanisms.tokenizers import train_unigram, train_wordpiece
from pipeline.settings.pretrain import Pretrain

__all__ = ["run"]

_HELD_OUT = 100  # one sentence in so many measures and does not train


def run(settings: Pretrain) -> None:
    """Write ``CORPUS/models/LM/seed-SEED/``: a checkpoint, or ``ready.json`` naming a ready one.

    Raises:
        InputError: there is no training text.
        ModelError: the base model is missing, or lacks a mask token or sentinels.
        SettingsError: the heads do not divide the width.
    """
    out = settings.corpus / "models" / settings.lm / f"seed-{settings.seed}"
    if settings.ready:
        locate(settings.ready, settings.corpus)
        with atomic_folder(out) as folder:
            write_json(folder / READY, {"name": settings.ready})
        say(f"{settings.lm}: {settings.ready} is used as it is")
        return
    texts = _texts(settings.corpus / "text.txt")
    torch.set_num_threads(settings.threads)
    device = accelerator()
    torch.manual_seed(settings.seed)
    model, tokenizer = _continued(settings) if settings.base else _new(settings, texts)
    objective, longest = _objective(settings, model, tokenizer)
    encoded, tally = encode_texts(tokenizer, texts, longest)
    if not encoded:
        raise InputError("no training sentence is usable", path=settings.corpus)
    held = np.zeros(len(encoded), dtype=bool)
    drawn = np.random.default_rng([settings.seed, 2])
    held[drawn.choice(len(encoded), len(encoded) // _HELD_OUT, replace=False)] = True
    training = [text for text, out_ in zip(encoded, held, strict=True) if not out_]
    validation = [text for text, out_ in zip(encoded, held, strict=True) if out_]
    if not settings.base:
        ids = [text.ids for text in training]
        embed_by_cooccurrence(model.get_input_embeddings(), ids, settings.seed)
    outcome = pretrain(model, objective, training, validation, settings=settings, device=device)
    if device.is_main_process:
        with atomic_folder(out) as folder:
            model.save_pretrained(folder)
            tokenizer.save_pretrained(folder)
            card = {
                "lm": settings.lm,
                "base": settings.base,
                "vocabulary": len(tokenizer),
                "texts": tally.to_dict(),
            }
            write_json(folder / "pretrain.json", card | asdict(outcome))
        _tell(out, outcome, tally)
    device.wait_for_everyone()


def _texts(path: Path) -> list[NaturalText]:
    """Raw text, a sentence a line; dev and test sentences, which models are judged on, are not in it."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except FileNotFoundError as error:
        raise InputError("no such file", path=path, remedy="run `conjoin ingest`") from error
    texts = [find_words(line) for line in lines if line.strip()]
    if not texts:
        raise InputError("no sentence to learn from", path=path)
    return texts


def _new(
    settings: Pretrain, texts: list[NaturalText]
) -> tuple[PreTrainedModel, PreTrainedTokenizerBase]:
    # Before the first use, or the tokenizers' threads outnumber the ones asked for.
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    plain = [text.text for text in texts]
    if settings.family == "bert":
        tokenizer = train_wordpiece(plain, settings.vocab_size, settings.max_length)
        return new_bert(settings, tokenizer), tokenizer
    tokenizer = train_unigram(plain, settings.vocab_size, settings.max_length)
    return new_t5(settings, tokenizer), tokenizer


def _continued(settings: Pretrain) -> tuple[PreTrainedModel, PreTrainedTokenizerBase]:
    where = locate(str(settings.base), settings.corpus)
    return load_masked_lm(where) if settings.family == "bert" else load_seq2seq_lm(where)


def _objective(
    settings: Pretrain, model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase
) -> tuple[Objective, int]:
    """What to learn, and the most tokens a sentence may have for it."""
    limit = min(settings.max_length, tokenizer.model_max_length)
    if settings.family == "bert":
        types = getattr(model.config, "type_vocab_size", 0) > 1
        pairs = MaskedPairs(
            tokenizer, rate=settings.mask_rate, mean_span=settings.mask_span, types=types
        )
        return pairs, (limit - pairs.extra) // 2
    spans = CorruptedSentence(tokenizer, density=settings.density, mean_span=settings.mean_span)
    return spans, limit - 1


def _tell(out: Path, outcome: Outcome, tally: Tally) -> None:
    table("training sentences", ("", "count"), tally.rows())
    held = "none held out" if outcome.validation_loss is None else f"{outcome.validation_loss:.3f}"
    say(
        f"{out}: {outcome.parameters:,} parameters, {outcome.steps:,} updates, "
        f"{outcome.tokens:,} tokens, loss {outcome.loss:.3f}, validation loss {held}"
    )

"""What a pretraining learns from: text or twins, split into training and held out, and a tokenizer."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from accelerate import Accelerator
from transformers import AutoTokenizer, PreTrainedModel, PreTrainedTokenizerBase

from pipeline.ground.console import say, table
from pipeline.ground.errors import InputError
from pipeline.ground.files import read_json, sha256_of, write_json
from pipeline.ground.parquet import MANIFEST
from pipeline.ground.schema import read_sentences
from pipeline.ground.tally import Tally
from pipeline.mechanisms.corruption import Spans
from pipeline.mechanisms.lmbatches import CorruptedSentence, MaskedPairs, Objective
from pipeline.mechanisms.lmtwins import TwinMasks, TwinSpans, read_twins
from pipeline.mechanisms.rawtext.overlap import REASONS, Overlap
from pipeline.mechanisms.rawtext.prepared import Prepared, prepare
from pipeline.mechanisms.rawtext.store import Selection, TokenStore, build_store, packed
from pipeline.mechanisms.tokenizers import train_unigram, train_wordpiece
from pipeline.settings.preparse import COORDINATED_FOLDER
from pipeline.settings.pretrain import Pretrain

__all__ = ["Material", "gather"]

_HELD_OUT = 100  # one sentence in so many of the corpus's own measures and does not train,
_MOST_HELD_OUT = 1000  # up to so many
_TOKENIZER_SENTENCES = 1_000_000  # that an own tokenizer is learnt from


@dataclass(frozen=True, slots=True)
class Material:
    """``objective`` hides parts of ``training`` and ``validation``, sentences or twins.

    ``tokenizer`` is the base's, or was trained here; ``tally`` counts sentences kept and refused, by
    reason, ``overlap`` those that hold a dev or test sentence, by how; ``digest`` is of the text.
    """

    tokenizer: PreTrainedTokenizerBase
    objective: Objective
    training: Sequence[Any]
    validation: Sequence[Any]
    tally: Tally
    overlap: Mapping[str, int]
    digest: str


def gather(
    settings: Pretrain,
    folder: Path,
    base: tuple[PreTrainedModel, PreTrainedTokenizerBase] | None,
    device: Accelerator,
) -> Material:
    """Read what the settings name, the same for every process.

    Args:
        settings: of the stage.
        folder: for working files: the main process writes them, and all map them into memory.
        base: the model that is continued, and its tokenizer.
        device: the processes.

    Raises:
        InputError: there is nothing to learn from.
    """
    if settings.objective == "twins" and base:  # the settings see to a base
        return _twins(settings, *base)
    if device.is_main_process:
        _write_text(settings, folder, base)
    device.wait_for_everyone()
    facts = read_json(folder / _FACTS)
    tokenizer = base[1] if base else AutoTokenizer.from_pretrained(folder / _TOKENIZER)
    objective, _ = _corruption(settings, tokenizer, base)
    store = TokenStore(folder)
    held = np.zeros(store.own, dtype=bool)
    drawn = np.random.default_rng([settings.seed, 2])
    count = min(store.own // _HELD_OUT, _MOST_HELD_OUT)
    held[drawn.choice(store.own, count, replace=False)] = True
    own, more = np.flatnonzero(~held), np.arange(store.own, len(store))
    times = settings.repeat if len(more) else 1
    return Material(
        tokenizer=tokenizer,
        objective=objective,
        training=_texts(store, np.concatenate([np.tile(own, times), more]), settings),
        validation=_texts(store, np.flatnonzero(held), settings),
        tally=Tally.from_dict(facts["texts"]),
        overlap=facts["overlap"],
        digest=facts["digest"],
    )


_FACTS, _TOKENIZER = "facts.json", "tokenizer"


def _texts(store: TokenStore, indices: Any, settings: Pretrain) -> Sequence[Any]:
    chosen = Selection(store, indices)
    return packed(chosen, settings.pack) if settings.pack else chosen


def _write_text(
    settings: Pretrain,
    folder: Path,
    base: tuple[PreTrainedModel, PreTrainedTokenizerBase] | None,
) -> None:
    held_out = _held_out(settings.corpus / "sentences.parquet")
    drop = settings.held_out == "drop"
    prepared = prepare(
        settings.corpus / "text.txt", settings.texts, settings.segment, held_out, drop, folder
    )
    _say_overlap(prepared, held_out, drop)
    tokenizer = base[1] if base else _new_tokenizer(settings, prepared)
    _, longest = _corruption(settings, tokenizer, base)
    store, tally = build_store(tokenizer, prepared, longest, folder)
    if not store.own:
        raise InputError("no training sentence is usable", path=settings.corpus)
    if not base:
        tokenizer.save_pretrained(folder / _TOKENIZER)
    # What was refused before there were tokens, and what after.
    refused = prepared.tally.refused + tally.refused
    facts = {
        "texts": Tally(tally.kept, refused).to_dict(),
        "overlap": _overlap(prepared),
        "digest": prepared.digest,
    }
    write_json(folder / _FACTS, facts)


def _held_out(path: Path) -> Overlap | None:
    """The dev and test split, which models are judged on; None without a corpus of sentences."""
    if not path.is_file():
        return None
    return Overlap(s.words for s in read_sentences(path) if s.split != "train")


def _say_overlap(prepared: Prepared, held_out: Overlap | None, drop: bool) -> None:
    if held_out is None:
        say("no sentences.parquet: raw text was not held against a dev or test split")
        return
    found = _overlap(prepared)
    what = "left out" if drop else "counted, and kept as --held-out count asks"
    say(f"{sum(found.values()):,} raw sentences hold a dev or test sentence: {what}")
    if found:
        table("dev or test in raw text", ("how", "sentences"), list(found.items()))


def _overlap(prepared: Prepared) -> dict[str, int]:
    """Raw sentences that hold a dev or test sentence, by how: left out, or only noted."""
    found = prepared.noted + prepared.tally.refused
    return {reason: found[reason] for reason in REASONS if found[reason]}


def _new_tokenizer(settings: Pretrain, prepared: Prepared) -> PreTrainedTokenizerBase:
    sample = prepared.sample(_TOKENIZER_SENTENCES)
    train = train_wordpiece if settings.family == "bert" else train_unigram
    return train(sample, settings.vocab_size, settings.max_length)


def _corruption(
    settings: Pretrain,
    tokenizer: PreTrainedTokenizerBase,
    base: tuple[PreTrainedModel, PreTrainedTokenizerBase] | None,
) -> tuple[Objective, int]:
    """What to learn, and the most tokens a sentence may have for it."""
    limit = min(settings.max_length, tokenizer.model_max_length)
    if settings.family == "bert":
        pairs = MaskedPairs(tokenizer, spans=_spans(settings), types=_has_types(base))
        return pairs, (limit - pairs.extra) // 2
    return CorruptedSentence(tokenizer, spans=_spans(settings)), limit - 1


def _spans(settings: Pretrain) -> Spans:
    bert = settings.family == "bert"
    return Spans(
        lengths=settings.span_lengths,
        density=settings.mask_rate if bert else settings.density,
        mean=settings.mask_span if bert else settings.mean_span,
        longest=settings.longest_span,
    )


def _has_types(base: tuple[PreTrainedModel, PreTrainedTokenizerBase] | None) -> bool:
    """Whether a BERT tells two sentences apart by types; those made here do."""
    return base is None or getattr(base[0].config, "type_vocab_size", 0) > 1


def _twins(
    settings: Pretrain, model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase
) -> Material:
    limit = min(settings.max_length, tokenizer.model_max_length)
    objective = (
        TwinMasks(tokenizer, types=_has_types((model, tokenizer)))
        if settings.family == "bert"
        else TwinSpans(tokenizer)
    )
    twins, tally = read_twins(settings.corpus, tokenizer, limit)
    # Of the last sentences: the two directions of one coordination must not be parted.
    count = min(len(twins) // _HELD_OUT, _MOST_HELD_OUT)
    return Material(
        tokenizer=tokenizer,
        objective=objective,
        training=twins[: len(twins) - count],
        validation=twins[len(twins) - count :],
        tally=tally,
        overlap={},
        digest=sha256_of(settings.corpus / COORDINATED_FOLDER / MANIFEST),
    )

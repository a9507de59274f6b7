"""What a pretraining learns from: raw text, or the twins of natural coordinations.

Raw text takes two steps, because the second is slow. First the text is read, filtered and written
down (``read_text``), and its digest shows whether a finished model was made of the same; then come
tokenizer and tokens (``text_material``). Working files are written by the main process, and all
processes map them into memory. ``twin_material`` is for ``--objective twins``.
"""

from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from accelerate import Accelerator
from transformers import PreTrainedTokenizerBase

from pipeline.core.claims import atomic_folder
from pipeline.core.console import in_one_piece, say, table
from pipeline.core.corpus_folder import (
    COORDINATED_FOLDER,
    DEPENDENCIES_FILE,
    RELATIONS_FILE,
    SENTENCES_FILE,
    TEXT_FILE,
    require_ingested,
    trees_digest,
)
from pipeline.core.disk import disk_faults
from pipeline.core.errors import InputError
from pipeline.core.files import digest_of
from pipeline.core.schema import read_sentences
from pipeline.core.tally import Tally
from pipeline.corpus.dependency_rows import every_tree, has_dependencies
from pipeline.models.language_models import LanguageModel
from pipeline.models.loading import length_limit, load_tokenizer
from pipeline.pretrain.batches import Objective
from pipeline.pretrain.raw_text import REASONS, Overlap, Prepared, prepare, prepared_in
from pipeline.pretrain.recipes import RECIPES
from pipeline.pretrain.settings import PretrainSettings
from pipeline.pretrain.token_store import SelectedTexts, TokenStore, build_store, packed
from pipeline.pretrain.twin_objective import read_twins
from pipeline.text.coordinations import READING
from pipeline.text.dependencies import tree_in
from pipeline.text.unpacking import UnpackingAllowance

HELD_OUT = 100  # one text in so many is held out of training to measure the loss on,
MOST_HELD_OUT = 1000  # but no more than these
_TOKENIZER_SENTENCES = 1_000_000  # that an own tokenizer is learnt from
_TOKENIZER = "tokenizer"


@dataclass(frozen=True, slots=True)
class PretrainingMaterial:
    """``objective`` hides parts of ``training`` and ``validation``, which are ``unit``.

    ``tokenizer`` is the base's, or was trained here; ``tally`` counts units kept and refused, by
    reason; ``overlap`` counts sentences that contain a dev or test sentence, by how, None where there
    was no such split; ``digest`` is of all that this was made of.
    """

    tokenizer: PreTrainedTokenizerBase
    objective: Objective
    training: Sequence[Any]
    validation: Sequence[Any]
    unit: str
    tally: Tally
    overlap: Mapping[str, int] | None
    digest: str


def held_out_sentences(corpus: Path) -> Overlap | None:
    """The dev and test split, on which models are evaluated; None without a corpus of sentences.

    Sentences with words that are written as one (``zum`` of ``zu`` and ``dem``) are held out in both forms.
    """
    require_ingested(corpus)
    path = corpus / SENTENCES_FILE
    if not path.is_file():
        return None
    held = {s.sentence_id: s.words for s in read_sentences(path) if s.split != "train"}
    return Overlap([*held.values(), *_as_written(corpus, held.keys())])


def _as_written(corpus: Path, wanted: Set[str]) -> Iterator[Sequence[str]]:
    """What stands between blanks in the text of sentences that have a dependency tree."""
    if has_dependencies(corpus):
        require_ingested(corpus, DEPENDENCIES_FILE)
        for sentence_id, rows in every_tree(corpus):
            if sentence_id in wanted:
                yield tree_in(rows, sentence_id).text.split()


def read_text(settings: PretrainSettings, folder: Path, device: Accelerator) -> Prepared:
    """The corpus's own raw text and the settings' ``texts``, filtered, in a working file.

    Raises:
        InputError: there is nothing to learn from, or a file cannot be read.
    """
    if device.is_main_process:
        held_out = held_out_sentences(settings.corpus)
        require_ingested(settings.corpus, TEXT_FILE)
        own, drop = settings.corpus / TEXT_FILE, settings.held_out == "drop"
        allowance = UnpackingAllowance(settings.largest_unpacked)
        prepare(own, settings.texts, settings.segment, held_out, drop, folder, allowance)
    device.wait_for_everyone()
    return prepared_in(folder)


def text_material(
    settings: PretrainSettings, prepared: Prepared, base: LanguageModel | None, device: Accelerator
) -> PretrainingMaterial:
    """Tokens of the prepared text, an own tokenizer where there is no base, and what is hidden.

    Raises:
        InputError: no sentence is usable.
    """
    folder = prepared.path.parent
    if device.is_main_process:
        tokenizer = base[1] if base else _new_tokenizer(settings, prepared)
        build_store(tokenizer, prepared, _objective(settings, tokenizer, base)[1], folder)
        if not base:
            with atomic_folder(folder / _TOKENIZER) as place, disk_faults(place):
                tokenizer.save_pretrained(place)
    device.wait_for_everyone()
    tokenizer = base[1] if base else load_tokenizer(str(folder / _TOKENIZER))
    objective, longest = _objective(settings, tokenizer, base)
    store = TokenStore(folder)
    if not len(store):
        raise InputError("no training sentence is usable", path=settings.corpus)
    texts = packed(store, min(settings.pack, longest), store.own) if settings.pack else store
    training, validation = _parted(len(texts), texts.own, settings)
    tally = Tally(store.tally.kept, prepared.tally.refused + store.tally.refused)
    overlap = None
    if (settings.corpus / SENTENCES_FILE).is_file():  # else there was no split to compare with
        counts = prepared.noted + prepared.tally.refused
        overlap = {reason: counts[reason] for reason in REASONS if counts[reason]}
    return PretrainingMaterial(
        tokenizer=tokenizer,
        objective=objective,
        training=SelectedTexts(texts, training),
        validation=SelectedTexts(texts, validation),
        unit="sentences",
        tally=tally,
        overlap=overlap,
        digest=prepared.digest,
    )


def _parted(texts: int, own: int, settings: PretrainSettings) -> tuple[Any, Any]:
    """Indices to learn from, the corpus's own ``repeat`` times, and those held out of its own."""
    measured = own or texts  # where there is no own text, some of the other is held out
    held = np.zeros(measured, dtype=bool)
    drawn = np.random.default_rng([settings.seed, 2])
    count = min(measured // HELD_OUT, MOST_HELD_OUT)
    held[drawn.choice(measured, count, replace=False)] = True
    kept, more = np.flatnonzero(~held), np.arange(measured, texts)
    times = settings.repeat if len(more) else 1
    return np.concatenate([np.tile(kept, times), more]), np.flatnonzero(held)


def say_overlap(material: PretrainingMaterial, settings: PretrainSettings) -> None:
    """Says how many raw sentences hold a dev or test sentence, and what was done about it."""
    found = material.overlap
    if found is None:
        own = (
            "of training pairs"
            if (settings.corpus / RELATIONS_FILE).is_file()
            else "without a split"
        )
        say(f"raw text was not held against dev or test: the corpus's own is {own}")
        return
    drop = settings.held_out == "drop"
    what = "left out" if drop else "counted, and kept as --held-out count asks"
    say(f"{sum(found.values()):,} raw sentences hold a dev or test sentence: {what}")
    if found:
        table("dev or test in raw text", ("how", "sentences"), list(found.items()))


def _new_tokenizer(settings: PretrainSettings, prepared: Prepared) -> PreTrainedTokenizerBase:
    # Weighted as an epoch is, or a narrow field's words would be spelt in pieces of everyday ones.
    repeat = settings.repeat if prepared.total > prepared.own else 1
    sample = prepared.sample(_TOKENIZER_SENTENCES, repeat)
    recipe = RECIPES[settings.family]
    with in_one_piece("learn a tokenizer"):
        return recipe.train_tokenizer(sample, settings.vocab_size, settings.max_length)


def _objective(
    settings: PretrainSettings, tokenizer: PreTrainedTokenizerBase, base: LanguageModel | None
) -> tuple[Objective, int]:
    """What to learn, and the most tokens a sentence may have for it."""
    limit = _most_tokens(settings, tokenizer, base)
    return RECIPES[settings.family].of_text(settings, tokenizer, base, limit)


def _most_tokens(
    settings: PretrainSettings, tokenizer: PreTrainedTokenizerBase, base: LanguageModel | None
) -> int:
    """Tokens of a sequence: what the settings ask for, as far as the model takes it."""
    most = length_limit(base[0].config, tokenizer) if base else int(tokenizer.model_max_length)
    return min(settings.max_length, most)


def twin_material(settings: PretrainSettings, base: LanguageModel) -> PretrainingMaterial:
    """Twins of the corpus's parsed coordinations; those of the last sentences are held out.

    Raises:
        InputError: none were parsed, or not one is usable.
    """
    tokenizer = base[1]
    held_out = held_out_sentences(settings.corpus)
    if held_out is None:
        raise InputError(
            "no such file",
            path=settings.corpus / SENTENCES_FILE,
            remedy="run `conjoin ingest`",
        )
    limit = _most_tokens(settings, tokenizer, base)
    twins = read_twins(
        settings.corpus, tokenizer, limit, held_out, drop=settings.held_out == "drop"
    )
    start = len(twins.items) - min(len(twins.items) // HELD_OUT, MOST_HELD_OUT)
    # A sentence's twins stay together: one shows what the other hides.
    while 0 < start < len(twins.items) and twins.sentences[start] == twins.sentences[start - 1]:
        start -= 1
    return PretrainingMaterial(
        tokenizer=tokenizer,
        objective=RECIPES[settings.family].of_twins(tokenizer, base),
        training=twins.items[:start],
        validation=twins.items[start:],
        unit="twins",
        tally=twins.tally,
        overlap=dict(twins.overlap),
        digest=digest_of([trees_digest(settings.corpus / COORDINATED_FOLDER), READING]),
    )

"""Folders of models that a task trained: ``predictor.json``, weights, configuration and tokenizer.

Such a folder is self-contained: ``model.safetensors`` (encoder and head), ``config.json`` (the encoder's),
the tokenizer's files, and ``predictor.json``, which has what the task needs to know and the digests of the
others.
"""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar, cast

import torch
from safetensors.torch import load_file, save_file
from transformers import PretrainedConfig, PreTrainedModel, PreTrainedTokenizerBase

from pipeline.core.claims import atomic_folder
from pipeline.core.disk import disk_faults
from pipeline.core.documents import check_form, read_json
from pipeline.core.errors import ModelError
from pipeline.core.files import sha256_of, write_json
from pipeline.models.checkpoint_files import check_digests, check_finite, shapes_in
from pipeline.models.loading import (
    PREDICTOR,
    check_vocabulary,
    load_config,
    load_tokenizer,
    loading,
    new_encoder,
)
from pipeline.models.roles import ENCODER, misfit
from pipeline.tasks.protocol import Model

WEIGHTS, CARD, CONFIG = "model.safetensors", PREDICTOR, "config.json"
_VERSION = 1
_AGAIN = "train it again, or copy the folder again"

M = TypeVar("M", bound=Model[Any])


def save_model(model: Model[Any], folder: Path, form: str, facts: Mapping[str, Any]) -> None:
    """Write a model's folder; it appears whole or not at all.

    Args:
        model: the model.
        folder: where it goes.
        form: what its card calls itself.
        facts: what the card has besides.
    """
    with atomic_folder(folder) as temporary, disk_faults(temporary):
        cast(PretrainedConfig, model.encoder.config).save_pretrained(temporary)
        model.encoding.tokenizer.save_pretrained(temporary)
        weights = {name: value.contiguous() for name, value in model.state_dict().items()}
        save_file(weights, temporary / WEIGHTS, metadata={"format": "pt"})
        files = {path.name: sha256_of(path) for path in sorted(temporary.iterdir())}
        card = {"format": form, "version": _VERSION, "files": files}
        write_json(temporary / CARD, card | dict(facts))


def read_card(
    folder: Path,
    form: str,
    shape: Any,
    task: str,
    usable: Callable[[Mapping[str, Any]], bool],
) -> Any:
    """The card of a model whose other files are those that were saved with it.

    Args:
        folder: the model's.
        form: what the card calls itself.
        shape: its ``TypedDict``, which may have ``files``.
        task: whose models have such, for the error.
        usable: whether a card of that shape can be one of a model.

    Raises:
        ModelError: there is none, it is of another format version, or a file is missing or damaged.
        InputError: it is not JSON, or not of this form.
    """
    path = folder / CARD
    if not path.is_file():
        raise ModelError(
            f"no {CARD} here", path=folder, remedy="name the predictor/ folder of a run"
        )
    found = read_json(path, object, remedy=_AGAIN)
    kind = (found.get("format"), found.get("version")) if isinstance(found, dict) else (None, None)
    if kind != (form, _VERSION):
        raise ModelError(
            f"a predictor of another format: {kind[0]!r} version {kind[1]!r}, "
            f"not {form!r} version {_VERSION}",
            path=folder,
            remedy="train it again with this version of conjoin"
            if kind[0] == form
            else f"name the predictor/ folder of a run on a corpus of {task}",
        )
    check_form(found, shape, path=path, remedy=_AGAIN)
    card: Any = found
    if not usable(card):
        raise ModelError("sizes that no predictor has", path=path, remedy=_AGAIN)
    if "files" in card:
        check_digests(folder, card["files"], "predictor", remedy=_AGAIN)
    for name in (WEIGHTS, CONFIG):
        if not (folder / name).is_file():
            raise ModelError(f"a damaged predictor: {name} is missing", path=folder, remedy=_AGAIN)
    return card


def load_model(folder: Path, make: Callable[[PreTrainedModel, PreTrainedTokenizerBase], M]) -> M:
    """The model of a folder whose card was read; nothing else is needed, nor a network.

    Args:
        folder: the model's.
        make: the model of an encoder with any weights, and of its tokenizer.

    Raises:
        ModelError: the folder is damaged.
    """
    where = str(folder)
    config, tokenizer = load_config(where), load_tokenizer(where)
    if not ENCODER.takes(config):
        raise misfit(where, config, ENCODER)
    with loading(where, "a predictor"):
        # First without memory: whatever the configuration says is only compared.
        with torch.device("meta"):
            made = make(new_encoder(config), tokenizer)
        _compare(folder, {name: tuple(v.shape) for name, v in made.state_dict().items()})
        model = make(new_encoder(config), tokenizer)
        model.load_state_dict(load_file(folder / WEIGHTS))
    check_finite(model, where)
    check_vocabulary(where, cast(PreTrainedModel, made.encoder), tokenizer, special=True)
    return model.eval()


def _compare(folder: Path, shapes: Mapping[str, tuple[int, ...]]) -> None:
    """Refuse weights that are not those of the predictor that card and configuration describe."""
    found = shapes_in(folder / WEIGHTS)
    for name in sorted(shapes.keys() | found.keys()):
        if found.get(name) != shapes.get(name):
            raise ModelError(
                f"a damaged predictor: size mismatch, {name} is {found.get(name, 'missing')} where "
                f"{CONFIG} and {CARD} say {shapes.get(name, 'nothing')}",
                path=folder,
                remedy="train it again",
            )

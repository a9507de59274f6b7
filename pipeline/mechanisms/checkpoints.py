"""Finding and loading Hugging Face checkpoints: a corpus's own, a folder, or a hub name.

A folder that holds only ``ready.json`` stands for the model it names; ``pretrain`` writes one where
params.yaml names a ready model.
"""

import logging
from pathlib import Path
from typing import Any

import torch
from transformers import (
    AutoConfig,
    AutoModel,
    AutoTokenizer,
    PretrainedConfig,
    PreTrainedModel,
    PreTrainedTokenizerBase,
)
from transformers import logging as transformers_logging

from pipeline.ground.errors import ModelError
from pipeline.ground.files import read_json, sha256_of

__all__ = [
    "READY",
    "identity",
    "length_limit",
    "load_encoder",
    "load_tokenizer",
    "load_weights",
    "locate",
]

# A bar over the few milliseconds of loading hides the progress that matters.
transformers_logging.disable_progress_bar()  # type: ignore[no-untyped-call]

READY = "ready.json"
"""File in a model folder that names the model to use: ``{"name": hub name or folder}``."""


def locate(name: str, corpus: Path | None = None, seed: int | None = None) -> str:
    """What to hand to ``from_pretrained`` for ``name``.

    Args:
        name: a folder inside the corpus (``models/bert``), any folder, or a hub name.
        corpus: the corpus folder.
        seed: which of the models in a folder of ``seed-*``: number ``seed`` modulo how many there
            are, so that a single one serves every seed.

    Raises:
        ModelError: a path that looks local does not exist or holds no model.
    """
    inside = corpus / name if corpus else None
    folder = inside if inside is not None and inside.is_dir() else Path(name)
    if not folder.is_dir():
        if name.startswith(("models/", ".", "/")):
            raise ModelError(
                "no such model folder",
                path=inside or folder,
                remedy="run `conjoin pretrain`, or name a hub model",
            )
        return name
    several = sorted(folder.glob("seed-*"), key=lambda each: (len(each.name), each.name))
    if seed is not None and several:
        folder = several[seed % len(several)]
    if (folder / READY).is_file():
        return locate(str(read_json(folder / READY)["name"]), corpus)
    if not (folder / "config.json").is_file():
        raise ModelError("no config.json here", path=folder, remedy="run `conjoin pretrain` again")
    return str(folder)


def identity(where: str) -> str:
    """What tells two models apart: the digest of a folder, or a hub name with its commit."""
    folder = Path(where)
    if folder.is_dir():
        return f"sha256:{sha256_of(folder)}"
    try:
        config = AutoConfig.from_pretrained(where)
    except (OSError, ValueError) as error:
        raise _unloadable(where, "a model", error) from error
    return f"{where}@{getattr(config, '_commit_hash', None)}"


def _unloadable(where: str, role: str, error: Exception) -> ModelError:
    reason = " ".join(str(error).split())[:160]
    return ModelError(
        f"cannot load {where!r} as {role}: {reason}",
        remedy="name a safetensors checkpoint of that kind",
    )


def load_weights(factory: Any, where: str, role: str, dtype: torch.dtype, **options: Any) -> Any:
    """What ``factory.from_pretrained`` makes of a checkpoint, whose weights must be safetensors.

    Raises:
        ModelError: it cannot.
    """
    try:
        # safetensors only: loading pickled weights runs code that came with them.
        return factory.from_pretrained(where, dtype=dtype, use_safetensors=True, **options)
    except (OSError, ValueError, RuntimeError) as error:
        raise _unloadable(where, role, error) from error


def load_tokenizer(where: str) -> PreTrainedTokenizerBase:
    """The fast tokenizer of a checkpoint.

    Raises:
        ModelError: there is none.
    """
    try:
        tokenizer = AutoTokenizer.from_pretrained(where)
    except (OSError, ValueError) as error:
        raise _unloadable(where, "a tokenizer", error) from error
    if not tokenizer.is_fast:
        raise ModelError(
            f"the tokenizer of {where!r} has no fast version",
            remedy="offsets need one; choose another checkpoint",
        )
    return tokenizer


def load_encoder(where: str) -> tuple[PreTrainedModel, PreTrainedTokenizerBase]:
    """A bare Transformer encoder in fp32, for the predictor, and its tokenizer.

    Raises:
        ModelError: it cannot be loaded, or the checkpoint lacks weights other than the pooler's.
    """
    # The library would report at length that an LM's head is left over, which is as it should be.
    before = transformers_logging.get_verbosity()
    transformers_logging.set_verbosity(logging.ERROR)
    try:
        encoder, info = load_weights(
            AutoModel, where, "an encoder", torch.float32, output_loading_info=True
        )
    finally:
        transformers_logging.set_verbosity(before)
    missing = sorted(name for name in info["missing_keys"] if not name.startswith("pooler."))
    if missing:
        raise ModelError(
            f"{where!r} lacks {len(missing)} of the encoder's weights, {missing[0]} first",
            remedy="name a checkpoint of that architecture",
        )
    return encoder, load_tokenizer(where)


def length_limit(config: PretrainedConfig, tokenizer: PreTrainedTokenizerBase) -> int:
    """Most tokens the model takes: the tighter of tokenizer and position embeddings."""
    positions = getattr(config, "max_position_embeddings", None) or getattr(
        config, "n_positions", None
    )
    if positions and config.model_type in {"roberta", "xlm-roberta", "camembert"}:
        positions -= config.pad_token_id + 1  # their position ids begin after the padding index
    return int(min(tokenizer.model_max_length, positions or tokenizer.model_max_length))

"""Finding and loading Hugging Face checkpoints: a corpus's own, a folder, or a hub name.

A folder that holds only ``ready.json`` stands for the model it names; ``pretrain`` writes one where
params.yaml names a ready model.
"""

import logging
from pathlib import Path
from typing import Any

import torch
from huggingface_hub.errors import StrictDataclassError
from safetensors import SafetensorError, safe_open
from transformers import (
    AutoConfig,
    AutoModel,
    AutoTokenizer,
    PretrainedConfig,
    PreTrainedModel,
    PreTrainedTokenizerBase,
)
from transformers import logging as transformers_logging

from pipeline.core.documents import read_json
from pipeline.core.errors import ModelError
from pipeline.core.files import digest_of, sha256_of

# A bar over the few milliseconds of loading hides the progress that matters.
transformers_logging.disable_progress_bar()  # type: ignore[no-untyped-call]

_PADDED_POSITIONS = frozenset(
    {"camembert", "data2vec-text", "esm", "ibert", "longformer", "luke", "mpnet", "roberta"}
    | {"roberta-prelayernorm", "xlm-roberta", "xlm-roberta-xl", "xmod"}
)
"""Architectures whose position ids begin after the padding token's id."""

_RECORDS = frozenset({"finished.json", "history.jsonl", "pretrain.json", "timing.json"})
"""Files that ``pretrain`` writes about a model beside it."""

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
    """Identifies a model: a digest of weights, settings and tokenizer, or a hub name's commit.

    How a model was made does not count: trained again to the same weights, it is the same.
    """
    folder = Path(where)
    if folder.is_dir():
        files = (path for path in sorted(folder.rglob("*")) if path.is_file())
        sums = {
            path.relative_to(folder).as_posix(): sha256_of(path)
            for path in files
            if path.name not in _RECORDS
        }
        return f"sha256:{digest_of(sums)}"
    return f"{where}@{getattr(load_config(where), '_commit_hash', None)}"


def _unloadable(where: str, role: str, error: Exception) -> ModelError:
    reason = " ".join(str(error).split())[:160]
    return ModelError(
        f"cannot load {where!r} as {role}: {reason}",
        remedy="name a safetensors checkpoint of that kind",
    )


def load_config(where: str) -> PretrainedConfig:
    """The configuration of a checkpoint.

    Raises:
        ModelError: it is not there, broken, or of an architecture the library does not know.
    """
    try:
        config: PretrainedConfig = AutoConfig.from_pretrained(where)
    except (OSError, ValueError, TypeError, KeyError, StrictDataclassError) as error:
        raise _unloadable(where, "a model", error) from error
    return config


def check_files(where: str) -> None:
    """Check that a folder's weights are safetensors and whole; a hub checks its own.

    Raises:
        ModelError: there are none, or one is damaged.
    """
    folder = Path(where)
    if not folder.is_dir():
        return
    files = sorted(folder.glob("*.safetensors"))
    if not files:
        raise ModelError(
            "no weights as safetensors here",
            path=folder,
            remedy="load it once where it is trusted, and save_pretrained again",
        )
    for file in files:
        try:
            with safe_open(file, "pt"):  # reads the header, which tells the length of the file
                pass
        except (SafetensorError, OSError) as error:
            raise ModelError(
                f"damaged weights: {error}", path=file, remedy="fetch or make them again"
            ) from error


def load_weights(
    factory: Any, where: str, role: str, dtype: torch.dtype, spared: str = ""
) -> PreTrainedModel:
    """What ``factory.from_pretrained`` makes of a checkpoint that has every weight.

    Args:
        factory: an auto class of the library.
        where: what to hand to it.
        role: what the model is to be, for the message.
        dtype: number format of the weights.
        spared: beginning of the names of weights that may be missing; "": none.

    Raises:
        ModelError: it cannot be loaded, its weights are not safetensors, or some would be random.
    """
    check_files(where)
    # The library would report at length which weights are left over, which is expected.
    before = transformers_logging.get_verbosity()
    transformers_logging.set_verbosity(logging.CRITICAL)
    try:
        # safetensors only: loading pickled weights runs code that came with them.
        model: PreTrainedModel
        model, info = factory.from_pretrained(
            where, dtype=dtype, use_safetensors=True, output_loading_info=True
        )
    except (OSError, ValueError, RuntimeError, SafetensorError) as error:
        raise _unloadable(where, role, error) from error
    finally:
        transformers_logging.set_verbosity(before)
    missing = sorted(
        name for name in info["missing_keys"] if not (spared and name.startswith(spared))
    )
    if missing:
        raise ModelError(
            f"{where!r} lacks {len(missing)} weights of {role}, {', '.join(missing[:3])} first",
            remedy="they would be random; name a checkpoint that was trained as one",
        )
    return model


def load_tokenizer(where: str) -> PreTrainedTokenizerBase:
    """The fast tokenizer of a checkpoint.

    Raises:
        ModelError: there is none.
    """
    try:
        tokenizer = AutoTokenizer.from_pretrained(where)
    except (OSError, ValueError) as error:
        raise _unloadable(where, "a tokenizer", error) from error
    if len(tokenizer) <= len(set(tokenizer.all_special_ids)):
        raise ModelError(
            f"{where!r} has no tokenizer files", remedy="a checkpoint needs its vocabulary"
        )
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
    encoder = load_weights(AutoModel, where, "an encoder", torch.float32, spared="pooler.")
    return encoder, load_tokenizer(where)


def length_limit(config: PretrainedConfig, tokenizer: PreTrainedTokenizerBase) -> int:
    """Most tokens the model takes: the tighter of tokenizer and position embeddings."""
    positions = getattr(config, "max_position_embeddings", None) or getattr(
        config, "n_positions", None
    )
    if not positions or positions < 0:  # relative positions have no limit
        return int(tokenizer.model_max_length)
    if config.model_type in _PADDED_POSITIONS:
        positions -= config.pad_token_id + 1
    return int(min(tokenizer.model_max_length, positions))

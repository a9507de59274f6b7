"""How much time do packed sentences save, and an encoder's outputs that are kept?

Each pair in turns in one process, one thread, CPU time, the least of some rounds:
- an update of a predictor, 16 sentences of L: padded in groups of similar length, and packed;
- predicting the dev split's coordinators: the same;
- an epoch of a parser of L's trees that reads a frozen encoder: stanza's own way, and packed and remembered;
- parsing 256 dev sentences with it, at once as `preparse` does: stanza's own way, and packed.

    python benchmarks/encoder_passes.py data/genia --encoder data/models/minilm
"""

import argparse
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from unittest.mock import patch

import torch
from stanza.models.constituency import lstm_model

from pipeline.core.console import table
from pipeline.core.draws import read_draw
from pipeline.core.schema import read_sentences
from pipeline.core.types import Sentence
from pipeline.models import words as encoding
from pipeline.parsing import encoders
from pipeline.parsing.encoders import words_encoder
from pipeline.parsing.parser import load_parser
from pipeline.parsing.training import MODEL, train_parser, training_tree
from pipeline.tasks.coordination.model import CoordinationPredictor
from pipeline.tasks.coordination.task import CoordinationTask
from pipeline.text.trees import parse_tree
from pipeline.train.optimizer import Optimizer, Schedule
from pipeline.train.stream import LabelledStream


@contextmanager
def as_before() -> Iterator[None]:
    """Padded sentences, and stanza's own way with the encoder."""
    with (
        patch.object(encoding, "can_pack", lambda _: False),
        patch.object(lstm_model, "extract_bert_embeddings", encoders._stanzas),
    ):
        yield


def spent(work: Callable[[], object]) -> float:
    """CPU seconds of a call."""
    began = time.process_time()
    work()
    return time.process_time() - began


def main(given: argparse.Namespace) -> None:
    """Print both times of each pair, and their ratio."""
    torch.set_num_threads(1)
    labelled, validation = read_draw(given.corpus, given.seed, given.labelled)
    if not any(sentence.tree for sentence in labelled):
        raise SystemExit(f"{given.corpus}: the draw has no trees; name a corpus of a treebank")
    dev = list(read_sentences(given.corpus / "sentences.parquet", lambda s: s.split == "dev"))
    predictor = CoordinationPredictor.create(given.encoder, mlp_hidden=256, dropout=0.5, seed=0)
    learned = CoordinationTask().examples(labelled, predictor).learned
    stream = LabelledStream(learned, 0)
    schedule = Schedule(
        steps=10**6, warm_steps=0, learning_rate=1e-4, weight_decay=0.01, clip=1.0, eval_every=100,
        patience=10**6, seed=0, encoder_rate=1.0,
    )  # fmt: skip
    optimizer = Optimizer(predictor, schedule, 0)
    asked = [(s.words, c.coordinator) for s in dev for c in s.evaluable]

    def update() -> None:
        for step in range(given.updates):
            optimizer.update(stream.sample(step * 16, 16), step)

    def epoch() -> None:
        with tempfile.TemporaryDirectory() as scratch:
            _train(Path(scratch), labelled, validation, given)

    works: dict[str, Callable[[], object]] = {
        f"{given.updates} updates of 16 sentences": update,
        f"predicting {len(asked):,} coordinators": lambda: predictor.predict(
            [words for words, _ in asked], [k for _, k in asked]
        ),
        f"{given.epochs} epochs of a parser of {len(labelled)} trees": epoch,
    }
    rows = [_pair(name, work, given.rounds) for name, work in works.items()]
    with tempfile.TemporaryDirectory() as scratch:
        _train(Path(scratch), labelled, validation, given)
        parser = load_parser(str(Path(scratch, MODEL)))
        some = [sentence.words for sentence in dev[:256]]
        what = f"parsing {len(some)} sentences"
        rows.append(_pair(what, lambda: parser.parse(some), given.rounds))
    table("CPU seconds, one thread", ("what", "before", "now", "times"), rows)


def _pair(name: str, work: Callable[[], object], rounds: int) -> tuple[str, str, str, str]:
    old, new = [], []
    for _ in range(rounds):
        with as_before():
            old.append(spent(work))
        new.append(spent(work))
    return name, f"{min(old):.1f}", f"{min(new):.1f}", f"{min(old) / min(new):.2f}"


def _train(
    folder: Path, labelled: list[Sentence], validation: list[Sentence], given: argparse.Namespace
) -> None:
    trees = [
        [training_tree(parse_tree(s.tree), s.words, None) for s in part if s.tree]
        for part in (labelled, validation)
    ]
    train_parser(
        folder, *trees, epochs=given.epochs, hidden=128, tagged=False, seed=0,
        encoder=words_encoder(given.encoder),
    )  # fmt: skip


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("corpus", type=Path)
    parser.add_argument("--encoder", required=True, help="a folder, such as data/models/minilm")
    parser.add_argument("--labelled", default="250")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--updates", type=int, default=10)
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--rounds", type=int, default=2)
    main(parser.parse_args())

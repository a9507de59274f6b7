"""How long predicting takes with batches of n sentences against batches of n subwords.

Both on the same sentences, the test split of a corpus folder, in turns in one process, with a random
predictor: the time does not depend on the weights.

    python benchmarks/prediction.py data/genia
"""

import argparse
import time
from collections.abc import Sequence
from pathlib import Path

import torch
from transformers import BertConfig, BertModel

from pipeline.core.console import table
from pipeline.core.schema import read_sentences
from pipeline.models.tokenizers import train_wordpiece
from pipeline.models.words import EncodedSentence, represent
from pipeline.tasks.coordination.model import CoordinationPredictor
from pipeline.tasks.coordination.scorer import batches

Pair = tuple[tuple[str, ...], EncodedSentence]
Asked = dict[tuple[str, ...], list[int]]


def main() -> None:
    """Print padding, memory's bound and time of each way of cutting."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("corpus", type=Path)
    parser.add_argument("--hidden", type=int, default=256)
    parser.add_argument("--layers", type=int, default=4)
    parser.add_argument("--vocabulary", type=int, default=8000)
    parser.add_argument("--limit", type=int, help="sentences at most")
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args()
    torch.set_num_threads(1)
    every = list(read_sentences(given.corpus / "sentences.parquet"))
    asked: Asked = {}
    for sentence in [s for s in every if s.split == "test"][: given.limit]:
        for gold in sentence.evaluable:
            if 0 < gold.coordinator < len(sentence.words) - 1:
                asked.setdefault(sentence.words, []).append(gold.coordinator)
    texts = [" ".join(s.words) for s in every if s.split == "train"]
    tokenizer = train_wordpiece(texts, given.vocabulary, 512)
    config = BertConfig(
        vocab_size=len(tokenizer), hidden_size=given.hidden, num_hidden_layers=given.layers,
        num_attention_heads=max(1, given.hidden // 64), intermediate_size=4 * given.hidden,
    )  # fmt: skip
    model = CoordinationPredictor(BertModel(config), tokenizer, given.hidden, 0.5).eval()
    ways = {
        "64 sentences as they come": _by_number(model, asked, sort=False),
        "64 sentences, sorted": _by_number(model, asked, sort=True),
    }
    for budget in (1024, 2048, 4096, 8192):
        ways[f"{budget:,} subwords, sorted"] = list(model.encoding.batches(asked, budget))
    times: dict[str, list[float]] = {name: [] for name in ways}
    for number in range(given.rounds):
        for name in list(ways)[:: 1 if number % 2 == 0 else -1]:
            times[name].append(_seconds(model, ways[name], asked))
    total = sum(len(encoded.ids) for encoded in model.encoding.encode(list(asked)))
    rows = []
    for name, cut in ways.items():
        sizes = [len(batch) * max(len(encoded.ids) for _, encoded in batch) for batch in cut]
        padding = f"{sum(sizes) / total - 1:.1%}"
        rows.append((name, len(cut), padding, max(sizes), f"{min(times[name]):.2f}"))
    table(
        f"{len(asked):,} sentences, {total:,} subwords, {given.layers} layers of {given.hidden}, one thread",
        ("batches of", "batches", "padding", "largest, subwords", f"CPU s, best of {given.rounds}"),
        rows,
    )


def _by_number(model: CoordinationPredictor, asked: Asked, *, sort: bool) -> list[list[Pair]]:
    pairs = list(zip(asked, model.encoding.encode(list(asked)), strict=True))
    if sort:
        pairs.sort(key=lambda pair: len(pair[1].ids))
    return [pairs[begin : begin + 64] for begin in range(0, len(pairs), 64)]


@torch.inference_mode()
def _seconds(model: CoordinationPredictor, cut: Sequence[Sequence[Pair]], asked: Asked) -> float:
    begun = time.process_time()  # of this process alone, whoever else is at work
    for batch in cut:
        encoded = [pair[1] for pair in batch]
        h = represent(model.encoder, model.encoding, encoded, model.device)
        instances = [(i, k, len(words)) for i, (words, _) in enumerate(batch) for k in asked[words]]
        for part in batches(instances):
            model.scorer(h, part)
    return time.process_time() - begun


if __name__ == "__main__":
    main()

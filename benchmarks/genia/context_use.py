"""Does a language model's fill depend on the sentence it stands in?

The second conjuncts of the dev split's coordinations (gold trees), read by each language model of a
corpus as generation would ask for them: nats per token of a conjunct in its own twins, and in those of
another coordination whose hidden conjunct has as many tokens. A model that does not read its context
has no difference; what it writes is then the same everywhere. The first token is apart, because later
ones may also follow from those before them.
"""

import argparse
import random
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch.nn.functional import cross_entropy
from transformers import PreTrainedModel

from pipeline.core.console import table
from pipeline.core.families import family_of
from pipeline.core.schema import read_sentences
from pipeline.core.types import SourceSentence
from pipeline.infill.families.known import load_language_model
from pipeline.pretrain.batches import Objective, epoch_of
from pipeline.pretrain.coordinations import Hidden, hidden_conjuncts, natural_coordinations
from pipeline.pretrain.corruption import IGNORED
from pipeline.pretrain.recipes import has_types
from pipeline.pretrain.twin_objective import TwinMasks, TwinSpans, encode_twins
from pipeline.text.trees import parse_tree

LONGEST = 128
BATCH = 16


def questions(corpus: Path, count: int) -> list[Hidden]:
    """Second conjuncts of dev sentences, hidden."""
    found = []
    for sentence in read_sentences(corpus / "sentences.parquet", lambda s: s.split == "dev"):
        if sentence.tree is not None:
            source = SourceSentence(sentence.sentence_id, sentence.words, sentence.license)
            kept, _ = natural_coordinations(sentence.words, parse_tree(sentence.tree))
            found += [hidden_conjuncts(source, each)[0] for each in kept]
    random.Random(0).shuffle(found)
    return found[:count]


def exchanged(items: Sequence[Any]) -> tuple[list[Any], list[Any]]:
    """Items whose number of target tokens others have too, and the same with those targets passed on."""
    groups = defaultdict(list)
    for item in items:
        groups[len(item.target)].append(item)
    own, foreign = [], []
    for group in (each for _, each in sorted(groups.items()) if len(each) > 1):
        own += group
        foreign += [
            replace(item, target=other.target)
            for item, other in zip(group, group[1:] + group[:1], strict=True)
        ]
    return own, foreign


@torch.inference_mode()
def nats(
    model: PreTrainedModel, objective: Objective, items: Sequence[Any], t5: bool
) -> tuple[float, float]:
    """Mean negative log-probability of the first token of each conjunct, and of the others."""
    first, later = [], []
    for batch in epoch_of(objective, items, BATCH):
        logits, labels = model(**batch).logits, batch["labels"]
        losses = cross_entropy(logits.transpose(1, 2), labels, reduction="none").numpy()
        for loss, label in zip(losses, labels.numpy(), strict=True):
            seen = loss[label != IGNORED]
            # <extra_id_0> conjunct <extra_id_1> </s>; or the masks of both twins
            runs = [seen[1:-2]] if t5 else np.split(seen, 2)
            first += [float(run[0]) for run in runs]
            later += [float(each) for run in runs for each in run[1:]]
    return float(np.mean(first)), float(np.mean(later))


def main() -> None:
    """Print a row for each language model."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("corpus", type=Path)
    parser.add_argument("--count", type=int, default=300)
    args = parser.parse_args()
    torch.set_num_threads(1)
    hidden = questions(args.corpus, args.count)
    rows = []
    for folder in sorted(args.corpus.glob("models/*/seed-0")):
        name = folder.parent.name
        t5 = family_of(name) == "t5"
        model, tokenizer = load_language_model(family_of(name), str(folder), torch.float32)
        types = has_types((model, tokenizer))
        objective: Objective = TwinSpans(tokenizer) if t5 else TwinMasks(tokenizer, types=types)
        encoded = encode_twins(hidden, tokenizer, LONGEST)
        own, foreign = exchanged([each for each in encoded if not isinstance(each, str)])
        model.train(False)
        mine, others = (nats(model, objective, each, t5) for each in (own, foreign))
        rows.append(
            [name, str(len(own))]
            + [f"{m:.2f} / {o:.2f} ({o - m:+.2f})" for m, o in zip(mine, others, strict=True)]
        )
    columns = ["model", "conjuncts", "first token: own / other's twins", "later tokens"]
    table(f"{args.corpus}: nats per token of hidden conjuncts", columns, rows)


if __name__ == "__main__":
    main()

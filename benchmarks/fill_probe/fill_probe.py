"""Does the fill probe measure anything? Fills of known worth, and models, on a corpus.

The conjuncts themselves must read near 100 %, other coordinations' conjuncts at chance, near-copies
of the shown conjunct at nothing, and a language model that learnt above the same model with random
weights.
"""

import argparse
import json
import sys
import time
from collections.abc import Callable
from pathlib import Path

import torch

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
from benchmarks.fill_probe.probe import Probe, ProbeResult, build_probe
from pipeline.core.console import say, table
from pipeline.core.families import family_of
from pipeline.infill import Fill
from pipeline.infill.families.known import load_language_model
from pipeline.pretrain.new_model import new_bert, new_t5
from pipeline.pretrain.settings import PretrainSettings
from pipeline.text.natural import join_words

COLUMNS = ("filled", "category", "length", "sense", "nearer", "echo", "recovered", "exact")


def known(probe: Probe) -> dict[str, list[Fill]]:
    """Fills of known worth: the conjunct, another coordination's, and A, the one shown, again."""
    first = [question.held.first for question in probe.questions]
    second = [question.held.conjunct for question in probe.questions]
    rows = {
        "the conjunct itself": second,
        "its first word only": [words[:1] for words in second],
        "its words backwards": [words[::-1] for words in second],
        "another's conjunct": second[1:] + second[:1],
        "another's first conjunct": first[1:] + first[:1],
        "A A": [words * 2 for words in first],
        "the A": [("the", *words) for words in first],
        "other A": [("other", *words) for words in first],
        "A and its last word again": [(*words, words[-1]) for words in first],
        "A without its first word": [words[1:] for words in first],
        "A, last word another's": [
            words[:-1] + other[-1:]
            for words, other in zip(first, second[1:] + second[:1], strict=True)
        ],
    }
    return {name: [Fill(join_words(w).text) for w in words] for name, words in rows.items()}


def models(corpus: Path) -> dict[str, Callable[[Probe], ProbeResult]]:
    """Each language model of the corpus, and one of the same shape with random weights."""
    found: dict[str, Callable[[Probe], ProbeResult]] = {}
    for folder in sorted(corpus.glob("models/*/seed-0")):
        name = folder.parent.name
        family = family_of(name)
        model, tokenizer = load_language_model(family, str(folder), torch.float32)
        size = model.config
        shape = PretrainSettings(
            corpus=corpus,
            lm=name,
            hidden=size.hidden_size,
            layers=size.num_hidden_layers,
            heads=size.num_attention_heads,
        )
        torch.manual_seed(0)
        fresh = (new_bert if family == "bert" else new_t5)(shape, tokenizer)
        for label, each in ((name, model), (f"{name}, random weights", fresh)):
            found[label] = lambda probe, f=family, m=each, t=tokenizer: probe.measure(f, m, t)  # type: ignore[misc]
    return found


def main() -> None:
    """Print a row for each writer of fills."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("corpus", type=Path, nargs="+")
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--json", type=Path, help="write the readings here, too")
    args = parser.parse_args()
    torch.set_num_threads(1)
    written = {}
    for corpus in args.corpus:
        begun = time.process_time()
        probe = build_probe(corpus, args.count, 0)
        if probe is None:
            continue
        say(f"built in {time.process_time() - begun:.1f} s of one core")
        readings = {name: (probe.read(fills), 0.0) for name, fills in known(probe).items()}
        for name, measure in models(corpus).items():
            begun = time.process_time()
            readings[name] = (measure(probe), time.process_time() - begun)
        rows = [
            [name, *(f"{100 * getattr(reading, c):.1f}" for c in COLUMNS), f"{seconds:.1f}"]
            for name, (reading, seconds) in readings.items()
        ]
        table(
            f"{corpus}: {len(probe.questions)} coordinations", ["fills by", *COLUMNS, "CPU s"], rows
        )
        written[str(corpus)] = {name: reading.to_dict() for name, (reading, _) in readings.items()}
    if args.json:
        args.json.write_text(json.dumps(written, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()

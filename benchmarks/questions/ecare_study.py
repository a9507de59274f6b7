"""Do questions made of textbooks help where people wrote few? The queue of e-CARE's runs, with MiniLM.

Every command of conjoin is a unit that is not done again: `units` prints them in order, `run` does those that
are not done, until its hours are over, evaluates on dev, and keeps what each model chose in
benchmarks/outcomes/CORPUS.jsonl; README.md here has the commands. `cut` holds questions of the training file
out, by which rate, length and λ are chosen: e-CARE's dev is what the table shows.

    python benchmarks/questions/ecare_study.py cut data/raw/ecare data/raw/ecare-choice
    python benchmarks/questions/ecare_study.py run --corpus data/study/ecare-250 --seeds 0 1 --candidates X
    python benchmarks/questions/ecare_study.py floor --corpus data/study/ecare-250
"""

import argparse
import json
import lzma
import random
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import torch
from transformers import AutoModel, AutoTokenizer

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
from benchmarks.outcomes import FOLDER
from benchmarks.questions.questions_tables import EVALUATION, keep_choices
from benchmarks.units import Unit, evaluate, print_or_run

COSTS = FOLDER / "questions_costs.jsonl"

HELD_OUT = 2132
"""Questions held out of training to choose by: as many as e-CARE's dev has."""

TRAINING = (
    "--encoder-rate", "0.1", "--warm-up", "0.1", "--warm-steps", "0", "--eval-every", "50",
    "--patience", "100000",
)  # fmt: skip
"""Of every model; the draw's validation questions choose the weights, by accuracy."""

BATCH = 16
"""People's questions of a batch, with as many made ones beside them or not."""

WEIGHTS = ("0.1", "0.5", "1")
"""λ, the thesis's three."""


def chain(seed: int, given: argparse.Namespace) -> Iterator[Unit]:
    """The units of one draw of L, in order.

    Args:
        seed: of the draw and of everything else.
        given: the options of the command.
    """
    corpus: Path = given.corpus
    labelled = corpus.name.rpartition("-")[2]
    draw = ("--labelled", labelled, "--seed", str(seed), "--encoder", str(given.encoder))
    steps = ("--steps", str(given.updates), "--learning-rate", given.rate)
    shared = (*draw, *steps, *TRAINING, "--resume")

    def train(system: str, mode: str, *more: str) -> Unit:
        command = ("train", str(corpus), "--system", system, "--mode", mode, *shared, *more)
        return Unit(f"train {system} {labelled}/seed-{seed}", command)

    yield train("baseline", "baseline", "--n-batch", str(BATCH))
    yield train("choices-only", "baseline", "--n-batch", str(BATCH), "--choices-only")
    sizes = ("--n-batch", str(2 * BATCH), "--k", str(BATCH))
    for folder in given.candidates:
        for weight in WEIGHTS:
            name = f"{folder.name}-{weight.replace('.', '')}"
            source = ("--candidates", str(folder), *sizes)
            yield train(name, "no-filter", *source, "--weight", weight)


def cut(source: Path, out: Path) -> None:
    """Divide e-CARE's training file in two, by whole premises: what to learn from, and what to choose by."""
    with lzma.open(source / "train.jsonl.xz", "rt", encoding="utf-8") as file:
        lines = [line.rstrip("\n") for line in file]
    premises = [" ".join(json.loads(line)["premise"].lower().split()) for line in lines]
    order = sorted(set(premises))
    random.Random(0).shuffle(order)
    left, held_out = HELD_OUT, set()
    for premise in order:
        if left <= 0:
            break
        held_out.add(premise)
        left -= premises.count(premise)
    out.mkdir(parents=True)
    for name, wanted in (("train", False), ("dev", True)):
        kept = [
            line
            for line, premise in zip(lines, premises, strict=True)
            if (premise in held_out) == wanted
        ]
        (out / f"{name}.jsonl").write_text("\n".join(kept) + "\n", "utf-8")
        print(f"{name}: {len(kept):,} questions")


def floor(given: argparse.Namespace) -> None:
    """How often the choice is right whose vector is nearer to the context's, by the untouched encoder."""
    questions = EVALUATION.instances(given.corpus, given.split, None)
    tokenizer = AutoTokenizer.from_pretrained(given.encoder)
    model = AutoModel.from_pretrained(given.encoder).eval()

    def vectors(texts: Sequence[str]) -> torch.Tensor:
        found = []
        for first in range(0, len(texts), 256):
            batch = tokenizer(
                list(texts[first : first + 256]), padding=True, truncation=True, return_tensors="pt"
            )
            with torch.inference_mode():
                states = model(**batch).last_hidden_state
            mask = batch["attention_mask"].unsqueeze(-1)
            found.append((states * mask).sum(1) / mask.sum(1))
        return torch.nn.functional.normalize(torch.cat(found), dim=1)

    contexts = vectors([q.context for q in questions])
    choices = iter(vectors([choice for q in questions for choice in q.choices]))
    right = 0
    for question, context in zip(questions, contexts, strict=True):
        near = [float(next(choices) @ context) for _ in question.choices]
        right += near.index(max(near)) == question.answer
    share = right / len(questions)
    print(f"{given.corpus.name}, {given.split}: cosine alone {share:.1%} of {len(questions):,}")


def main(given: argparse.Namespace) -> None:
    """Print or do the units of the seeds, one chain after the other."""
    units = [unit for seed in given.seeds for unit in chain(seed, given)]
    if print_or_run(units, given, COSTS):
        evaluate(given.corpus, given.split)
        keep_choices(given.corpus)


def _options(line: Sequence[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(dest="command", required=True)
    dividing = commands.add_parser("cut", help="hold training questions out, to choose by")
    dividing.add_argument("source", type=Path)
    dividing.add_argument("out", type=Path)
    for name in ("units", "run", "floor"):
        each = commands.add_parser(name)
        each.add_argument("--corpus", type=Path, required=True, help="named after the size of L")
        each.add_argument("--encoder", type=Path, default=Path("data/models/minilm"))
        each.add_argument("--split", default="dev")
        if name == "floor":
            continue
        each.add_argument(
            "--candidates",
            type=Path,
            nargs="*",
            default=[],
            help="folders that `conjoin ask` wrote",
        )
        each.add_argument("--seeds", type=int, nargs="+", required=True)
        each.add_argument("--updates", type=int, default=400)
        each.add_argument(
            "--rate", default="5e-4", help="of the linear layer; the encoder's is a tenth"
        )
        each.add_argument("--only", nargs="*", default=[], help="units, as 'train baseline'")
        each.add_argument("--jobs", type=int, default=2, help="commands at a time, a core each")
        each.add_argument("--hours", type=float, default=1000.0)
    return parser.parse_args(line)


if __name__ == "__main__":
    options = _options()
    if options.command == "cut":
        cut(options.source, options.out)
    elif options.command == "floor":
        floor(options)
    else:
        main(options)

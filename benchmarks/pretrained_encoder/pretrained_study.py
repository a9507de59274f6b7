"""What do candidates gain at equal annotation, with an encoder that others pretrained? The queue of its runs.

Everything is a command of conjoin, and every command a unit that is not done again: `units` prints them in
order, `run` does those that are not done, until its hours are over, evaluates, and keeps what each system got
right in benchmarks/outcomes/CORPUS.jsonl and what each command cost in outcomes/pretrained_costs.jsonl.
`pretrained_tables.py` prints the tables of what is kept. A corpus folder has a name of its own for this
study, such as genia-minilm.

    python benchmarks/pretrained_encoder/pretrained_study.py run --corpus data/study/genia-minilm --seeds 0 1

On a machine with a GPU, which every command takes, ``--jobs 15`` has fifteen of them share it.
"""

import argparse
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
from benchmarks.outcomes import FOLDER
from benchmarks.outcomes import main as keep_outcomes
from benchmarks.units import Unit, run, wanted

COSTS = FOLDER / "pretrained_costs.jsonl"

PARSER = "l-trees"
"""The parser of L's trees that fine-tunes the encoder; both sides of every comparison use it."""

RETRAINED = "again"
"""The parser that learned from L's trees and, as the first reads them, sentences whose rows all passed."""

TRAINING = (
    "--learning-rate", "1e-4", "--warm-steps", "0", "--select", "last", "--eval-every", "200",
    "--patience", "100000",
)  # fmt: skip
"""Of every predictor; chosen by seeds 100 to 102 on dev sentences (README.md here)."""

PARSING = (
    "--parser-hidden", "128", "--parser-lm-rate", "5e-5",
)  # fmt: skip
"""Of every parser; the draw's validation sentences choose among its 30 epochs."""

VARIANTS: dict[str, tuple[str, ...]] = {
    "small-batches": ("--n-batch", "8", "--k", "4", "--k-max", "8"),
    "fast": ("--learning-rate", "2e-4"),
    "fast-scorer": ("--learning-rate", "1e-3", "--encoder-rate", "0.1"),
    "long": (),
}
"""Training otherwise, to choose by: each of the predictor of L and of that of believed candidates.

Small batches are half as large, and there are twice as many: what is read is as much. Long is twice the
updates.
"""

RELATIVE = "0.001"
"""Least share of the predictor's best that a harvested boundary must have."""

WHOLE = "1500"
"""Rows drawn of those whose sentences passed whole, for the parser that learns again: the prototype's number;
five epochs of all 4,515 sentences of GENIA would take half an hour."""


def chain(  # noqa: PLR0917 - what names a chain
    corpus: Path,
    labelled: str,
    seed: int,
    encoder: Path,
    updates: int,
    variants: Sequence[str] = (),
    masked_lm: Path | None = None,
) -> Iterator[Unit]:
    """The units of one draw of L at the level of L's trees, in order.

    Args:
        corpus: the corpus folder, ingested with this draw.
        labelled: size of L.
        seed: of the draw and of everything else.
        encoder: the untouched one, of predictors and parsers.
        updates: of every predictor.
        variants: of ``VARIANTS``, trained besides.
        masked_lm: with the encoder's tokenizer, for attested fills; None: there are none. One at random is
            taken, so what its head says is in no row but in ``score``.
    """
    where, draw = str(corpus), ("--labelled", labelled, "--seed", str(seed))
    runs, candidates = corpus / "runs", corpus / "candidates"
    at = f"{labelled}/seed-{seed}"

    def train(system: str, mode: str, *more: str, needs: str = "") -> Unit:
        variant = next((name for name in variants if system.endswith(f"-{name}")), "")
        steps = 2 * updates if variant in {"small-batches", "long"} else updates
        shared = ("--encoder", str(encoder), "--steps", str(steps), *TRAINING, "--resume")
        otherwise = VARIANTS.get(variant, ())
        command = (
            "train",
            where,
            "--system",
            system,
            "--mode",
            mode,
            *draw,
            *shared,
            *otherwise,
            *more,
        )
        return Unit(f"train {system} {at}", command, (f"{needs} {at}",) if needs else ())

    def learn(system: str, folder: str, needs: str) -> Unit:
        source = str(candidates / folder / at)
        return train(system, "no-filter", "--candidates", source, needs=needs)

    def select(folder: str, *sources: str, more: Sequence[str], needs: Sequence[str]) -> Unit:
        names = (str(candidates / source / at) for source in sources)
        out = "--out", str(candidates / folder / at)
        command = ("select", *names, *out, "--seed", str(seed), *more)
        return Unit(f"select {folder} {at}", command, tuple(f"{each} {at}" for each in needs))

    taught = ("--parser", "labelled", "--parser-lm", str(encoder), *PARSING)
    predictor = str(runs / "predictor" / labelled / f"seed-{seed}" / "predictor")
    believed = ("--predictor", predictor, "--relative", RELATIVE)
    harvested = ("--trees", PARSER, *draw, "--out", str(candidates / "harvest" / at))
    yield Unit(f"preparse {at}", ("preparse", where, *taught, *draw, "--name", PARSER))
    yield train("predictor", "baseline")
    yield Unit(f"harvest {at}", ("harvest", where, *harvested), (f"preparse {at}",))
    yield select("believed", "harvest", more=believed, needs=("harvest", "train predictor"))
    yield learn("believed", "believed", "select believed")
    for variant in variants:
        yield train(f"predictor-{variant}", "baseline")
        yield learn(f"believed-{variant}", "believed", "select believed")
    whole = (*believed, "--whole-sentences", "--sample", "random-sentences", "--size", WHOLE)
    yield select("whole", "harvest", more=whole, needs=("harvest", "train predictor"))
    again = ("--also", str(candidates / "whole" / at), "--teacher", PARSER, "--name", RETRAINED)
    yield Unit(
        f"preparse {RETRAINED} {at}",
        ("preparse", where, *taught, *draw, *again, "--parser-epochs", "5"),
        (f"preparse {at}", f"select whole {at}"),
    )
    yield learn("harvest", "harvest", "harvest")
    if masked_lm is not None:
        unranked = ("--fills", "attested", "--pool", "1", "--lm", "bert", "--model", str(masked_lm))
        out = ("--out", str(candidates / "attested" / at))
        command = ("generate", where, *unranked, "--trees", PARSER, *draw, *out)
        yield Unit(f"generate attested {at}", command, (f"preparse {at}",))
        yield learn("attested", "attested", "generate attested")
        yield select("both", "harvest", "attested", more=(), needs=("harvest", "generate attested"))
        yield learn("both", "both", "select both")
    yield train("brackets", "baseline", "--brackets", "1")
    for augment in ("copy", "mask"):
        yield train(augment, "baseline", "--augment", augment)


def main(given: argparse.Namespace) -> None:
    """Print or do the units of the seeds, one chain after the other."""
    units = [
        unit
        for seed in given.seeds
        for unit in chain(
            given.corpus,
            given.labelled,
            seed,
            given.encoder,
            given.updates,
            given.variants,
            given.masked_lm,
        )
    ]
    units = wanted(units, given.only)
    if given.command == "units":
        print(*(f"conjoin {' '.join(unit.command)}" for unit in units), sep="\n")
        return
    run(units, given.corpus, COSTS, given.jobs, given.hours)
    evaluation: tuple[str, ...] = ("evaluate", str(given.corpus), "--split", given.split)
    for name in (PARSER, RETRAINED):
        if (given.corpus / "parsers" / name).is_dir():
            evaluation += ("--parser", name)
    subprocess.run([sys.executable, "-m", "pipeline", *evaluation], check=True)  # noqa: S603
    if given.split == "test":  # settings are chosen by what the command above prints
        keep_outcomes(given.corpus)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("command", choices=("units", "run"))
    parser.add_argument("--corpus", type=Path, required=True)
    parser.add_argument("--encoder", type=Path, default=Path("data/models/minilm"))
    parser.add_argument("--masked-lm", type=Path, help="for attested fills, which need one")
    parser.add_argument("--labelled", default="250")
    parser.add_argument("--seeds", type=int, nargs="+", required=True)
    parser.add_argument("--updates", type=int, default=1200)
    parser.add_argument(
        "--variants", nargs="*", choices=VARIANTS, default=[], help="to choose settings by"
    )
    parser.add_argument(
        "--only", nargs="*", default=[], help="units, as 'train believed', and what they need"
    )
    parser.add_argument("--jobs", type=int, default=2, help="commands at a time, a core each")
    parser.add_argument("--hours", type=float, default=1000.0)
    parser.add_argument("--split", default="test", help="dev for the choice of settings")
    return parser.parse_args()


if __name__ == "__main__":
    main(_options())

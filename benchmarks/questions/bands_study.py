"""Made questions on the embedded world: what they gain, and how hard and how biased bands leave them.

Three parts, each a queue of commands of conjoin on one text, its event pairs and the oracle's votes:
``gains``, 300 questions of people with ten times as many made ones, as experiments/questions.yaml has it;
``bands``, the thesis's five (Table 2.6), each a data set of its own, made, voted for, and read back with
`ingest asked`, of which models are trained and tested; ``reuse``, what choices alone give away in those with
a limit on how often a clause is a distractor and without one (p. 41).

    python benchmarks/questions/bands_study.py run --corpus data/study/world-questions --seeds 0 1 --jobs 2
    python benchmarks/questions/bands_study.py tables --corpus data/study/world-questions

Every command is a unit that is not done again: ``units`` prints them in order, ``run`` does those that are
not done, until its hours are over, evaluates all data sets, and keeps what each model chose on test, as
questions_tables.py does: benchmarks/outcomes/CORPUS.jsonl of gains, CORPUS-DATASET.jsonl of each data set.
``tables`` prints what is kept. What each command cost goes to outcomes/questions_costs.jsonl.
"""

import argparse
import sys
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
from benchmarks.outcomes import FOLDER
from benchmarks.questions.questions_tables import BASELINE, Answered, keep_choices, print_tables
from benchmarks.said import file_of, gain, spread
from benchmarks.table_parts import print_table
from benchmarks.units import Unit, evaluate, print_or_run
from pipeline.core.comparison import Counts, documents_of

COSTS = FOLDER / "questions_costs.jsonl"

SOURCE = Path("data/raw/world")
PARAMS = ("--params", "params.yaml")
"""The corpus's folder is called world-questions, by which its options are found there."""

PAIRS = "text-pairs"
LABELLED = "300"
DRAWN = (*range(10), *range(100, 103))
"""Seeds of draws: those of tables, and those that settings are chosen with. All are drawn at once, so that a
seed more leaves what is done as it is."""

GAINS = {
    "baseline": (), "choices-only": (), "pseudo-01": ("asked",), "pseudo-05": ("asked",),
    "pseudo-1": ("asked",), "pseudo-leaking": ("asked-leaking",),
}  # fmt: skip
"""Systems of experiments/questions.yaml, and the entries of ``questions`` in params.yaml that they read."""

TRAINING = (
    "--learning-rate", "1e-3", "--encoder-dropout", "0", "--warm-up", "0.1", "--warm-steps", "0",
    "--eval-every", "100", "--patience", "100000",
)  # fmt: skip
"""Of every model of a data set, as params.yaml has it for people's questions."""

VALIDATION = "100"

DEFAULT, REUSE = "default", "reuse-5"
CHOICES_ONLY = "choices-only"


class Bounds(NamedTuple):
    """The bounds of both bands, and what they are bounds of."""

    choice: tuple[str, str]
    context: tuple[str, str]
    scale: str

    def options(self, without: str = "") -> tuple[str, ...]:
        """Options of ``ask``, without one of the bounds: ``upper-choice``, ``lower-context``."""
        bands = {"choice": self.choice, "context": self.context}
        found: tuple[str, ...] = ("--bands", self.scale)
        for name, bounds in bands.items():
            sides = zip(("lower", "upper"), bounds, strict=True)
            low, high = ("" if without == f"{side}-{name}" else bound for side, bound in sides)
            found += (f"--{name}-band={low}-{high}",)
        return found


SCALES = {
    "": Bounds(("0.4", "0.6"), ("0.5", "0.7"), "cosine"),
    "shares-": Bounds(("0.89", "0.993"), ("0.975", "0.999"), "quantile"),
}
"""The thesis's cosines, as they are; and the shares of random clauses' cosines that lie below these in
English textbooks (README.md here), as shares of the world's."""

WITHOUT = ("upper-choice", "upper-context", "lower-choice", "lower-context")


def data_sets(scales: Sequence[str], parts: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Names of data sets of made questions → options of ``ask``."""
    found: dict[str, tuple[str, ...]] = {}
    for scale in scales:
        bounds = SCALES[scale]
        found[f"{scale}{DEFAULT}"] = bounds.options()
        if "bands" in parts:
            found |= {f"{scale}no-{bound}": bounds.options(bound) for bound in WITHOUT}
        if "reuse" in parts:
            found[f"{scale}{REUSE}"] = (*bounds.options(), "--reuse", "5")
    return found


def folder_of(corpus: Path, name: str) -> Path:
    """The corpus that a data set is read back as."""
    return corpus.with_name(f"{corpus.name}-{name}")


def text(given: argparse.Namespace) -> Iterator[Unit]:
    """The text, people's questions, a language model, event pairs, and the oracle's votes for them."""
    where = str(given.corpus)
    size = ("--sentences", str(given.sentences)) if given.sentences else ()
    seeds = (word for seed in DRAWN for word in ("--seeds", str(seed)))
    ingest = ("ingest", "world-questions", str(SOURCE), "--labelled", LABELLED, *seeds, *size)
    yield Unit("ingest text", (*ingest, "--out", where, *PARAMS))
    pretrain = ("pretrain", where, "--lm", "bert", "--seed", "0", *PARAMS)
    pairs = ("pair", where, "--named", PAIRS, "--out", _pairs(given.corpus), *PARAMS)
    yield Unit("pair text", pairs, ("ingest text",))
    yield Unit("pretrain bert", pretrain, ("ingest text",))
    vote = ("vote", _pairs(given.corpus), "--oracle", "--seed", str(given.asking))
    yield Unit("vote oracle", (*vote, "--out", _votes(given.corpus)), ("pair text",))


def _pairs(corpus: Path) -> str:
    return str(corpus / "pairs" / PAIRS)


def _votes(corpus: Path) -> str:
    return str(corpus / "pairs" / f"{PAIRS}-votes.parquet")


def gains(corpus: Path, seed: int) -> Iterator[Unit]:
    """The units of one draw of people's questions, in order."""
    for name in dict.fromkeys(each for needed in GAINS.values() for each in needed):
        out = str(corpus / "candidates" / name / f"seed-{seed}")
        ask = ("ask", _pairs(corpus), "--named", name, "--seed", str(seed), "--out", out, *PARAMS)
        yield Unit(f"ask {name} seed-{seed}", ask, ("pair text",))
    draw = ("--labelled", LABELLED, "--seed", str(seed))
    for system, needed in GAINS.items():
        train = ("train", str(corpus), "--system", system, *draw, "--resume", *PARAMS)
        needs = ("pretrain bert", *(f"ask {name} seed-{seed}" for name in needed))
        yield Unit(f"train {system} seed-{seed}", train, needs)


def asking(name: str, options: Sequence[str], given: argparse.Namespace) -> Iterator[Unit]:
    """The units that make a data set of pairs that were voted for, and read it back."""
    corpus, made = given.corpus, given.corpus / "candidates" / name / f"seed-{given.asking}"
    votes = ("--votes", _votes(corpus), "--seed", str(given.asking))
    ask = ("ask", _pairs(corpus), *options, *votes, "--out", str(made))
    yield Unit(f"ask {name}", ask, ("vote oracle",))
    draws = ("--labelled", given.labelled, "--validation", VALIDATION)
    seeds = (word for seed in DRAWN for word in ("--seeds", str(seed)))
    ingest = ("ingest", "asked", str(made), *draws, *seeds, "--out", str(folder_of(corpus, name)))
    yield Unit(f"ingest {name}", ingest, (f"ask {name}",))


def learning(name: str, seed: int, given: argparse.Namespace) -> Iterator[Unit]:
    """The units of the models that learn a data set: of all of it, and of choices alone."""
    encoder = ("--encoder", str(given.corpus / "models" / "bert" / "seed-0"))
    draw = ("--mode", "baseline", "--labelled", given.labelled, "--seed", str(seed))
    shared = (*draw, *encoder, *TRAINING, "--steps", str(given.updates), "--resume")
    systems = {BASELINE: (), CHOICES_ONLY: ("--choices-only",)}
    for system, more in systems.items():
        if system == CHOICES_ONLY and not name.endswith((DEFAULT, REUSE)):
            continue
        train = ("train", str(folder_of(given.corpus, name)), "--system", system, *shared, *more)
        needs = ("pretrain bert", f"ingest {name}")
        yield Unit(f"train {name} {system} seed-{seed}", train, needs)


def every_unit(given: argparse.Namespace) -> Iterator[Unit]:
    """All of them: what one needs before it, and one seed after the other."""
    yield from text(given)
    made = data_sets(given.scales, given.parts) if {"bands", "reuse"} & {*given.parts} else {}
    for name, options in made.items():
        yield from asking(name, options, given)
    for seed in given.seeds:
        if "gains" in given.parts:
            yield from gains(given.corpus, seed)
        for name in made:
            yield from learning(name, seed, given)


def evaluated(given: argparse.Namespace) -> list[Path]:
    """Evaluate every corpus that has runs, as many at a time as jobs, and return them.

    Raises:
        CalledProcessError: one cannot be evaluated.
    """
    names = data_sets(tuple(SCALES), ("bands", "reuse"))
    corpora = [given.corpus, *(folder_of(given.corpus, name) for name in names)]
    found = [corpus for corpus in corpora if any(corpus.glob("runs/*/*/seed-*/run.json"))]
    with ThreadPoolExecutor(given.jobs) as pool:
        list(pool.map(lambda corpus: evaluate(corpus, given.split), found))
    return found


def print_data_sets(corpus: Path, scale: str) -> None:
    """How hard the data sets of a scale are, over the default's questions of the same event pairs.

    Accuracies are of all test questions of a data set, gains of those whose event pair both have: seeds and
    event pairs are resampled. ``choices only`` is of all of them again.
    """
    known = {
        name: Answered.read(folder_of(corpus, name))
        for name in data_sets((scale,), ("bands", "reuse"))
        if file_of(folder_of(corpus, name)).is_file()
    }
    default = known.get(f"{scale}{DEFAULT}")
    if default is None:
        return
    rows = []
    for name, own in known.items():
        shares = list(own.shares(BASELINE).values())
        blind = list(own.shares(CHOICES_ONLY).values())
        events = [e for e in default.places if e in own.places]
        one, other = (_of_events(each, events) for each in (own, default))
        documents = documents_of(events)
        compared = gain(one, one if own is default else other, documents)
        rows.append(
            [
                name, f"{len(own.questions):,}", str(len(shares)), spread(shares), f"{len(events):,}",
                *compared, spread(blind) if blind else "",
            ]
        )  # fmt: skip
    print(f"{corpus.name}, questions made with {SCALES[scale].scale} bands, test\n")
    columns = ("questions", "seeds", "accuracy", "common", "over default", "t over seeds")
    print_table(["", *columns, "choices only"], rows)


def _of_events(answered: Answered, events: Sequence[str]) -> Mapping[int, Counts]:
    """What the baseline of a data set got right of these event pairs, by seed."""
    places = [answered.places[each] for each in events]
    return {seed: counts[places] for seed, counts in answered.of[BASELINE].items()}


def main(given: argparse.Namespace) -> None:
    """Print or do the units, or print tables."""
    if given.command == "tables":
        if file_of(given.corpus).is_file():
            print_tables(given.corpus)
        for scale in SCALES:
            print_data_sets(given.corpus, scale)
        return
    if not print_or_run(list(every_unit(given)), given, COSTS):
        return
    for corpus in evaluated(given):
        if given.split == "test":  # settings are chosen by what evaluate prints
            keep_choices(corpus)


def _options(line: Sequence[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("command", choices=("units", "run", "tables"))
    parser.add_argument(
        "--corpus", type=Path, required=True, help="whose folder is world-questions"
    )
    parser.add_argument("--seeds", type=int, nargs="+", choices=DRAWN, default=list(range(10)))
    parser.add_argument(
        "--parts",
        nargs="+",
        choices=("gains", "bands", "reuse"),
        default=["gains", "bands", "reuse"],
    )
    parser.add_argument("--scales", nargs="+", choices=SCALES, default=list(SCALES))
    parser.add_argument("--sentences", type=int, help="of the text; unset: as params.yaml has it")
    parser.add_argument("--asking", type=int, default=0, help="seed of votes and distractors")
    parser.add_argument("--labelled", default="full", help="questions of a data set to learn from")
    parser.add_argument("--updates", type=int, default=1000)
    parser.add_argument(
        "--only", nargs="*", default=[], help="units, as 'train pseudo-05', and what they need"
    )
    parser.add_argument("--jobs", type=int, default=2, help="commands at a time, a core each")
    parser.add_argument("--hours", type=float, default=1000.0)
    parser.add_argument("--split", default="test", help="dev for the choice of settings")
    return parser.parse_args(line)


if __name__ == "__main__":
    main(_options())

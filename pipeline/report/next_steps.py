"""What to do next, as far as it follows from a report's figures: two or three steps with their commands."""

import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import count, islice
from pathlib import Path

from pipeline.core import console
from pipeline.core.candidates import HARVESTED
from pipeline.core.cards.candidates import CandidatesManifest
from pipeline.core.cards.trees import PreparseCard
from pipeline.core.comparison import Comparison
from pipeline.core.documents import read_json
from pipeline.core.runs import ALONE as PARSER_ALONE
from pipeline.core.runs import ELSE, NO_AUGMENTATION, TOGETHER, Run, System, candidates_at_hand
from pipeline.report.opening import ALONE, FEW, HELPS, UNCLEAR, WITHOUT, WORSE, Headline
from pipeline.report.prose import Fact
from pipeline.report.results import FULL, Metrics, read_generation

_STEPS = 3
_WORTH = 0.01  # a gain that more seeds may still show: less is not worth their time
_MANY = 20  # seeds: more have never changed an answer here


@dataclass(frozen=True, slots=True)
class Step:
    """A piece of advice and the command that follows it."""

    text: Fact
    command: str


def next_steps(
    metrics: Metrics, found: Sequence[Headline], runs: Sequence[Run], corpus: Path
) -> list[Step]:
    """The first three that apply: whose candidates and predictor to use, and what the figures leave open.

    Args:
        metrics: of the evaluation.
        found: the verdict at each |L|.
        runs: the corpus's, for the folders of candidates and predictors that there are.
        corpus: its folder. Commands call it ``data/NAME``, wherever it lies.
    """
    root = f"data/{console.one_line(corpus.resolve().name)}"
    return list(islice(_steps(metrics, found, runs, corpus, root), _STEPS))


def _steps(
    metrics: Metrics, found: Sequence[Headline], runs: Sequence[Run], corpus: Path, root: str
) -> Iterator[Step]:
    if (good := _good(metrics, found)) and good.best:
        yield from _use(good, good.best.system, runs, corpus, root)
    yield from _more(metrics, found, runs, corpus, root)
    if all(verdict.kind == ALONE for verdict in found):
        yield _with_candidates(metrics, found, corpus, root)
    elif not good and not _has_attested(corpus):
        yield Step(
            Fact("next_steps.attested"),
            _command("conjoin generate", root, "--lm bert --fills attested"),
        )


def _with_candidates(metrics: Metrics, found: Sequence[Headline], corpus: Path, root: str) -> Step:
    """To train with candidates, or to make some first."""
    folders = sorted(corpus.glob("candidates/*/seed-*"))
    if not folders:
        made = _command("conjoin generate", root, "--lm bert --fills attested")
        return Step(Fact("next_steps.make"), made)
    rest = f"--mode no-filter --candidates {shlex.quote(_inside(folders[0], corpus, root))}"
    rest += f" --labelled {_draw(metrics, found[0])}" if found else ""
    return Step(Fact("next_steps.train"), _command("conjoin train", root, rest))


def _good(metrics: Metrics, found: Sequence[Headline]) -> Headline | None:
    """Where generation helps: at the report's |L|, else where it gains most."""
    helped = [verdict for verdict in found if verdict.kind == HELPS]
    return max(
        helped,
        key=lambda v: (v.labelled == metrics.main, v.gain.gain if v.gain else 0.0),
        default=None,
    )


def _runs_of(verdict: Headline, system: System, runs: Sequence[Run]) -> list[Run]:
    """The runs whose predictor a system uses."""
    return [
        run for run in runs if (run.labelled, run.system) == (verdict.labelled, system.predictor)
    ]


def _use(
    good: Headline, system: System, runs: Sequence[Run], corpus: Path, root: str
) -> Iterator[Step]:
    """Read the candidates of the best system, and find coordinations with its predictor.

    Those of the first seed: to choose one by its test figures would be to fit them.
    """
    for run in _runs_of(good, system, runs):
        folder, predict = candidates_at_hand(run, corpus), _predict(system, run, corpus, root)
        if folder:
            candidates = _inside(folder, corpus, root)
            augment = run.system.augment if run.system.augment != NO_AUGMENTATION else ""
            learn = Fact(
                "next_steps.learn",
                folder=candidates.removeprefix(f"{root}/"),
                augment=augment,
                size=good.phrase,
            )
            yield Step(learn, _command("conjoin browse", candidates))
        if predict:
            yield Step(Fact("next_steps.predict"), predict)
        if folder or predict:
            return


def _predict(system: System, run: Run, corpus: Path, root: str) -> str:
    """The command that uses a run's predictor as a system does; empty: it is not there."""
    if not (run.folder / "predictor").is_dir():
        return ""
    shown = _inside(run.folder / "predictor", corpus, root)
    return _command("conjoin predict", shown, f"TEXT{_parser(system, run, corpus, root)}")


def _parser(system: System, run: Run, corpus: Path, root: str) -> str:
    """The option that puts a system's parser beside a run's predictor, if it has one that is there."""
    if system.combined not in (ELSE, TOGETHER):
        return ""
    lets = " --tau 0" * (system.combined == ELSE)  # every structure of the parser stands
    named = corpus / f"parsers/{system.parser}/{run.draw}/seed-{run.seed}"
    if (named / "parser.json").is_file():
        return f" --parser {shlex.quote(_inside(named, corpus, root))}{lets}"
    return f" --parser {shlex.quote(root)}{lets}" if system.parser == "corpus" else ""


def _parser_of_candidates(verdict: Headline, runs: Sequence[Run], corpus: Path) -> str | None:
    """What ``evaluate --parser`` calls the parser whose trees the best system's candidates rest on.

    None where that is not known: they are not at hand, or their manifest leaves it open.
    """
    own = _runs_of(verdict, verdict.best.system, runs) if verdict.best else []
    folders = [folder for run in own if (folder := candidates_at_hand(run, corpus))]
    if not folders or not (manifest := folders[0] / "manifest.json").is_file():
        return None
    settings = read_json(manifest, CandidatesManifest).get("settings", {})
    trees = settings.get("trees")
    if settings.get("fills") == HARVESTED and trees is None:
        if settings.get("parser") == "corpus":
            return "corpus"
        plain = settings.get("tags", "none") == "none" and settings.get("parser_lm") is None
        size = settings.get("labelled")
        return (
            f"labelled-{size}" if settings.get("parser") == "labelled" and size and plain else None
        )
    if trees == "parsed":
        return "corpus"
    return trees if trees != "treebank" else None


def _trees_are_gold(corpus: Path) -> bool:
    """Whether preparse took the treebank's trees, so that there is no parser to stand beside the baseline."""
    report = corpus / "preparse.json"
    if not report.is_file():
        return False
    # Beside them there may be those that unlabelled text came with.
    return str(read_json(report, PreparseCard).get("parser")).startswith("treebank")


def _more(
    metrics: Metrics, found: Sequence[Headline], runs: Sequence[Run], corpus: Path, root: str
) -> Iterator[Step]:
    """What is left open: more seeds where they may tell; no candidates where nothing is to be gained."""
    open_ = [v for v in found if v.gain and _may_tell(v.kind, v.gain)]
    if open_:
        first = open_[0]
        by_hand = not (corpus.resolve().parents[1] / "dvc.yaml").is_file()
        few = first.kind == FEW
        yield Step(
            Fact(
                "next_steps.seeds", size=first.phrase, seeds=first.seeds, few=few, by_hand=by_hand
            ),
            _another_seed(metrics, first, root) if by_hand else _all_seeds(first),
        )
    for verdict in found:
        if verdict.kind == WITHOUT:
            yield _to_compare(metrics, verdict, runs, corpus, root)
    lost = [v for v in found if v.gain and v.kind in (UNCLEAR, WORSE) and v not in open_]
    for rival in dict.fromkeys(v.against.system for v in lost if v.against):
        alike = [v for v in lost if v.against and v.against.system == rival]
        yield Step(
            Fact(
                "next_steps.without",
                sizes=[metrics.label(v.labelled) for v in alike],
                most=max(v.gain.high for v in alike if v.gain),
                system=None if rival.is_baseline else rival,
            ),
            _without(metrics, alike[0], runs, corpus, root),
        )


def _all_seeds(verdict: Headline) -> str:
    """The command that makes an experiment's cells of more seeds; which one it was nobody knows here."""
    numbers = ",".join(str(n) for n in range(max(5, min(2 * verdict.seeds, _MANY))))
    return f"conjoin repro EXPERIMENT --set 'seeds=[{numbers}]'"


def _another_seed(metrics: Metrics, verdict: Headline, root: str) -> str:
    """The command that trains the best system on one more draw."""
    system = verdict.best.system.predictor if verdict.best else None
    name = shlex.quote(console.one_line(str(system or "NAME")))
    there = verdict.best.by_seed if verdict.best else {}
    seed = next(number for number in count() if number not in there)
    rest = f"--system {name} --labelled {_draw(metrics, verdict)} --seed {seed}"
    return _command("conjoin train", root, rest)


def _to_compare(
    metrics: Metrics, verdict: Headline, runs: Sequence[Run], corpus: Path, root: str
) -> Step:
    """What makes something of equal annotation where there is nothing."""
    if not any(result.system.is_baseline for result in metrics.block(verdict.labelled)):
        return Step(
            Fact("next_steps.baseline", size=verdict.phrase), _alone(metrics, verdict, root)
        )
    if _trees_are_gold(corpus):
        command = _command("conjoin preparse", root, "--parser train")
        return Step(Fact("next_steps.parse"), command)
    parser = _parser_of_candidates(verdict, runs, corpus)
    name = "NAME" if parser is None else shlex.quote(console.one_line(parser))
    return Step(
        Fact("next_steps.parser", size=verdict.phrase, known=parser is not None),
        _command("conjoin evaluate", root, f"--parser {name}"),
    )


def _without(
    metrics: Metrics, verdict: Headline, runs: Sequence[Run], corpus: Path, root: str
) -> str:
    """The command that uses the best system without candidates, or trains its predictor."""
    system = verdict.against.system if verdict.against else None
    if system is None or system.is_baseline:
        return _alone(metrics, verdict, root)
    for run in _runs_of(verdict, system, runs):
        if predict := _predict(system, run, corpus, root):
            return predict
    if system.combined == PARSER_ALONE:
        return _command("conjoin evaluate", root, f"--parser {system.parser}")
    return _alone(metrics, verdict, root)


def _alone(metrics: Metrics, verdict: Headline, root: str) -> str:
    """The command that trains on L alone, as the best system without candidates did if that is more."""
    rest = f"--mode baseline --labelled {_draw(metrics, verdict)}"
    system = verdict.against.system if verdict.against else None
    if system and system.gold_of is not None:
        rest += f" --gold-of {shlex.quote(console.one_line(system.gold_of))}"
    if system and system.brackets is not None:
        rest += f" --brackets {system.brackets:g}"
    return _command("conjoin train", root, rest)


def _draw(metrics: Metrics, verdict: Headline) -> str:
    """What ``--labelled`` calls a draw."""
    return FULL if verdict.labelled in metrics.full else str(verdict.labelled)


def _may_tell(kind: str, gain: Comparison) -> bool:
    """Whether more seeds may show a gain that is worth their time."""
    possible = gain.high >= _WORTH and len(gain.seeds) < _MANY
    return kind == FEW or (kind == UNCLEAR and possible)


def _has_attested(corpus: Path) -> bool:
    """Whether some folder of candidates has fills that somebody wrote."""
    folders = (path.name for path in sorted(corpus.glob("candidates/*")))
    return any(read_generation(corpus, name).fills == "attested" for name in folders)


def _inside(folder: Path, corpus: Path, root: str) -> str:
    """A folder of the corpus as commands name it."""
    parts = folder.resolve().relative_to(corpus.resolve()).as_posix()
    return f"{root}/{console.one_line(parts)}"


def _command(name: str, place: str, rest: str = "") -> str:
    return " ".join(part for part in (name, shlex.quote(place), rest) if part)

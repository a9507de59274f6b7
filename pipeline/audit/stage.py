"""``conjoin audit``: which annotations of a corpus's candidates are right.

The grammar that made a corpus knows of every sentence. A treebank knows of its own, which ``harvest`` takes
as they stand: of its candidates those are audited, and if there are none, the stage says so and is done.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, groupby
from pathlib import Path
from random import Random
from typing import Any

from pipeline.audit.auditor import (
    Audited,
    Auditor,
    ScoredCandidate,
    draw_scored,
    filter_figures,
    generation_figures,
)
from pipeline.audit.judges import Grammar, Judge, Treebank, may_be_natural
from pipeline.audit.settings import AuditSettings
from pipeline.core.candidates import has_candidates
from pipeline.core.claims import Claim, Listed, appearing
from pipeline.core.console import Meter, say, table
from pipeline.core.documents import read_json
from pipeline.core.errors import InputError
from pipeline.core.files import write_json
from pipeline.core.parquet import read_rows, row_count, write_rows
from pipeline.core.runs import Run, candidates_at_hand, not_at_hand, read_runs
from pipeline.core.schema import SCORED, VERDICTS, read_candidates
from pipeline.core.types import Candidate, Span
from pipeline.corpus.checked import find_candidates, open_candidates
from pipeline.world.oracle import LEXICON, Oracle

ALGORITHM = 1
"""Raise it when a code change changes the verdicts on the same inputs (tests/test_golden.py)."""


@dataclass(frozen=True, slots=True)
class _Case:
    """A candidate to judge; ``folder`` is where the boundaries to be judged come from."""

    folder: str
    candidate: Candidate
    extent: Span | None = None
    accepted: bool | None = None


@dataclass(slots=True)
class _Set:
    """Cases that make one entry of ``audit.json``; ``about`` is what the entry begins with."""

    about: dict[str, Any]
    cases: list[_Case] = field(default_factory=list)


def run(settings: AuditSettings) -> None:
    """Judge samples of the candidates and of what the filter saw; write ``audit/``.

    What runs judged of candidates from elsewhere (a release folder, the hub, a folder that is gone)
    is left out, in a line that names them: their text is not at hand.

    Raises:
        InputError: a grammar was named that is not there; there are neither candidates nor runs; a file is
            damaged or of another schema; a run judged candidates that its folder does not hold any more;
            ``audit/`` is no earlier audit.
    """
    corpus = settings.corpus
    if not corpus.is_dir():
        raise InputError("no such corpus folder", path=corpus, remedy="run `conjoin ingest`")
    claim = Claim(corpus / "audit", "audit", earlier=_earlier)
    claim.check()
    source = settings.source or Path("data/raw") / corpus.resolve().name
    has_grammar, unknown = (source / LEXICON).is_file(), 0
    if settings.source is not None and not has_grammar:
        raise InputError(
            f"no {LEXICON} here", path=settings.source, remedy="name the folder of the grammar"
        )
    runs = [run for run in read_runs(corpus) if run.source]
    at_hand = [run for run in runs if candidates_at_hand(run, corpus)]
    if has_grammar:
        generation = _generation_sets(settings, _everything)
        if not generation and not runs:
            raise InputError(
                "no candidates here", path=corpus / "candidates", remedy="run `conjoin generate`"
            )
        if text := not_at_hand([run for run in runs if run not in at_hand]):
            say(f"{text} They are not audited.")
        filtered = _filter_sets(settings, at_hand)
        judge: Judge = Grammar(Oracle.load(source))
    else:
        generation = _generation_sets(settings, may_be_natural)
        natural = [r for r in at_hand if may_be_natural(candidates_at_hand(r, corpus) or corpus)]
        filtered = _filter_sets(settings, natural)
        judge = gold = Treebank(corpus, _sentences_of([*generation, *filtered]))
        drawn = _cases_in([*generation, *filtered])
        generation, filtered = _known_to(gold, generation), _known_to(gold, filtered)
        unknown = drawn - _cases_in([*generation, *filtered])
        if not generation and not filtered:
            _write(claim, [], {"oracle": False})
            say(
                f"No grammar made this corpus (no {source / LEXICON}), and no candidate is a sentence of "
                "its treebank (`conjoin harvest`): nothing to audit."
            )
            return
    judged = _judge(Auditor(judge), [*generation, *filtered])
    entries = {
        "generation": [
            {**s.about, **generation_figures(a)}
            for s, a in zip(generation, judged, strict=False)
        ],
        "filter": [
            {**s.about, **filter_figures(a)}
            for s, a in zip(filtered, judged[len(generation) :], strict=True)
        ],
    }  # fmt: skip
    verdicts = _verdicts([*generation, *filtered], judged)
    _write(claim, verdicts, {"oracle": True, "judge": judge.name, **entries})
    _tell(entries, judge.name, unknown)


_VERDICTS, _CARD = "verdicts.parquet", "audit.json"


def _earlier(there: Path) -> Listed:
    """The files of an earlier audit, which says of itself whether there was an oracle."""
    try:
        card = read_json(there / _CARD)
    except InputError:
        return None
    return (_VERDICTS, _CARD) if isinstance(card.get("oracle"), bool) else None


def _write(claim: Claim, verdicts: Sequence[Mapping[str, Any]], card: Mapping[str, Any]) -> None:
    with appearing(claim) as folder:
        write_rows(folder / _VERDICTS, VERDICTS, verdicts)
        write_json(folder / _CARD, card)


def _everything(folder: Path) -> bool:
    del folder  # a grammar knows of all
    return True


def _cases_in(sets: Sequence[_Set]) -> int:
    return sum(len(one.cases) for one in sets)


def _sentences_of(sets: Sequence[_Set]) -> set[str]:
    return {case.candidate.sentence_id for one in sets for case in one.cases}


def _known_to(gold: Treebank, sets: Sequence[_Set]) -> list[_Set]:
    """Those cases that the treebank knows; the others are counted."""
    found = []
    for one in sets:
        known = [case for case in one.cases if gold.knows(case.candidate)]
        if known:
            found.append(_Set({**one.about, "unknown": len(one.cases) - len(known)}, known))
    return found


def _seed_of(folder: Path) -> int:
    number = folder.name.removeprefix("seed-")
    if not number.isdigit():
        raise InputError("not a folder of one seed", path=folder, remedy="call it seed-NUMBER")
    return int(number)


def _generation_sets(settings: AuditSettings, wanted: Callable[[Path], bool]) -> list[_Set]:
    """A sample of every wanted folder of candidates; the seeds of one generator make one set."""
    root = settings.corpus / "candidates"
    # As ``NAME/seed-S``, or of each size of L as ``NAME/N/seed-S``.
    every = (folder for pattern in ("*/seed-*", "*/*/seed-*") for folder in root.glob(pattern))
    there = (folder for folder in every if has_candidates(folder) and wanted(folder))

    def name_of(folder: Path) -> str:
        return folder.parent.relative_to(root).as_posix()

    folders = sorted(there, key=lambda folder: (name_of(folder), _seed_of(folder)))
    sets = []
    for name, group in groupby(folders, key=name_of):
        members = list(group)
        found = _Set({"candidates": name, "seeds": [_seed_of(folder) for folder in members]})
        for folder in members:
            place = folder.relative_to(settings.corpus).as_posix()
            key = f"{settings.seed} {place}"
            found.cases += [_Case(place, c) for c in _sample(folder, settings.sample, key)]
        sets.append(found)
    return sets


def _sample(folder: Path, count: int, key: str) -> list[Candidate]:
    """A seeded sample of the folder's candidates, in their order."""
    shards = open_candidates(folder)
    total = sum(map(row_count, shards))
    wanted = set(Random(key).sample(range(total), min(count, total)))
    candidates = chain.from_iterable(map(read_candidates, shards))
    return [c for index, c in enumerate(candidates) if index in wanted]


def _filter_sets(settings: AuditSettings, runs: Sequence[Run]) -> list[_Set]:
    """A sample of what the filter judged, for every system and |L| over all seeds together."""
    corpus, sets = settings.corpus, []
    for (labelled, system), group in groupby(runs, key=lambda run: (run.labelled, run.system)):
        members = {run.folder.as_posix(): run for run in group}
        scored = [one for name, run in members.items() for one in _scored(name, run)]
        # Not by the system's name, which nothing depends on.
        drawn = draw_scored(scored, settings.sample, f"{settings.seed} {labelled}")
        if drawn:
            seeds = [run.seed for run in members.values()]
            about = {"system": system, "labelled": labelled, "seeds": seeds}
            sets.append(_Set(about, _cases(corpus, drawn, members)))
    return sets


def _scored(name: str, run: Run) -> Iterator[ScoredCandidate]:
    for row in read_rows(run.folder / "scored.parquet", SCORED):
        # Self-training judges boundaries of its own, in generation's sentences.
        extent = Span(row["start"], row["end"]) if run.mode == "self-train" else None
        yield ScoredCandidate(name, row["candidate_id"], row["accepted"], extent)


def _cases(corpus: Path, drawn: Sequence[ScoredCandidate], runs: Mapping[str, Run]) -> list[_Case]:
    """The drawn judgements with their candidates, looked up in each run's folder."""
    shards = {name: candidates_at_hand(run, corpus) or corpus for name, run in runs.items()}
    found = find_candidates({(shards[one.run], one.candidate_id) for one in drawn})
    cases = []
    for one in drawn:
        run, folder = runs[one.run], shards[one.run]
        owner = run.folder if one.extent is not None else folder
        candidate = found[folder, one.candidate_id]
        place = owner.relative_to(corpus).as_posix()
        cases.append(_Case(place, candidate, one.extent, one.accepted))
    return cases


def _judge(auditor: Auditor, sets: Sequence[_Set]) -> list[list[Audited]]:
    found: list[list[Audited]] = []
    with Meter("audit", sum(len(one.cases) for one in sets)) as meter:
        for one in sets:
            found.append([])
            for case in one.cases:
                found[-1].append(auditor.audit(case.candidate, case.extent, case.accepted))
                meter.advance()
    return found


def _verdicts(sets: Sequence[_Set], judged: Sequence[Sequence[Audited]]) -> list[dict[str, Any]]:
    """Rows of ``VERDICTS``, each candidate of a folder once."""
    rows = {}
    for one, results in zip(sets, judged, strict=True):
        for case, audited in zip(one.cases, results, strict=True):
            rows[case.folder, case.candidate.candidate_id] = {
                "candidate_id": case.candidate.candidate_id,
                "folder": case.folder,
                "kind": str(audited.verdict.kind),
                "sensible": audited.verdict.sensible,
            }
    return [rows[key] for key in sorted(rows)]


def _percent(share: float | None) -> str:
    return "-" if share is None else f"{100 * share:.1f}"


def _tell(entries: dict[str, list[dict[str, Any]]], judge: str, unknown: int) -> None:
    shares = ["right", "other", "distinct"]
    if judge == Grammar.name:
        shares = ["right", "sensible", "other", "ungrammatical", "repeats", "distinct"]
    if unknown:
        say(f"{unknown:,} of the candidates drawn are no sentences that the treebank knows.")
    if entries["generation"]:
        table(
            f"Annotations of generation, by the {judge} (% of judged)",
            ["candidates", "judged", *shares],
            [
                [e["candidates"], e["judged"], *(_percent(e[name]) for name in shares)]
                for e in entries["generation"]
            ],
        )
    if entries["filter"]:
        table(
            "Right annotations (%) among what the filter accepted and rejected",
            ["|L| system", "accepted", "right", "sensible", "rejected", "right", "sensible"],
            [
                [f"{e['labelled']} {e['system']}", *_half(e["accepted"]), *_half(e["rejected"])]
                for e in entries["filter"]
            ],
        )


def _half(figures: dict[str, Any]) -> list[object]:
    return [figures["judged"], _percent(figures["right"]), _percent(figures["sensible"])]

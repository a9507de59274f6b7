"""The tables of docs/results.md on GENIA, from the runs that benchmarks/outcomes/genia.jsonl keeps.

Usage:
    python benchmarks/genia/genia_tables.py

The runs are those of experiment genia-cpu and genia_rest.sh; outcomes.py keeps what they got right. Gains
are over the row of equal annotation that a row varies, computed as for the embedded world (table_parts.py);
those over the best row without candidates are of equal_annotation.py.
"""

import sys
from collections.abc import Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
from benchmarks.outcomes import Outcomes
from benchmarks.table_parts import Study, print_table

THREE = range(3)
SHOWN = ("NP, NX", "VP", "PP", "S, SBAR")
BOUNDARIES, TREES, MORE = "L's boundaries", "L's trees", "+ 2,500 trees"
ROWS = (  # system, its name, what was annotated, the row that it varies
    ("baseline", "baseline (no generation)", BOUNDARIES, ""),
    ("t5", "free, by T5, δ = 0.7 (the paper)", MORE, ""),
    ("bert", "free, by BERT, δ = 0.7 (the paper)", MORE, ""),
    ("unranked", "attested, unranked (control)", MORE, ""),
    ("attested-bert", "attested, the best of 16 by BERT", MORE, "unranked"),
    ("attested-twins", "attested, the best of 16 by BERT adapted on twins", MORE, "attested-bert"),
    ("attested-targets", "attested, by BERT, drawn by errors", MORE, "attested-bert"),
    ("harvest", "harvest, parser of 2,500 trees", MORE, ""),
    ("agreed", "&nbsp;&nbsp; where a predictor agrees (A ∩ B)", MORE, "harvest"),
    ("agreed-like", "&nbsp;&nbsp; half of that, stratified like L", MORE, "agreed"),
    ("mixed", "&nbsp;&nbsp; mixed with attested fills", MORE, "harvest"),
    ("harvest-half", "&nbsp;&nbsp; λ = 0.5", MORE, "harvest"),
    ("harvest-labelled", "harvest, parser of L's 250 trees", TREES, ""),
    ("agreed-labelled", "&nbsp;&nbsp; where a predictor agrees (A ∩ B)", TREES, "harvest-labelled"),
    ("self-trained", "&nbsp;&nbsp; self-training, δ = 0.7 (B)", TREES, "harvest-labelled"),
    ("both", "harvest, both parsers", MORE, "harvest"),
    ("control-real-and", "gold “X and Y”, as many as generated", "gold, as many", ""),
    ("control-real", "gold coordinations, all", "gold, all", ""),
)  # fmt: skip
LONG = (
    ("baseline-long", "baseline (no generation)", BOUNDARIES, "baseline"),
    ("harvest-labelled-long", "harvest, parser of L's 250 trees", TREES, "harvest-labelled"),
    ("harvest-long", "harvest, parser of 2,500 trees", MORE, "harvest"),
    ("both-long", "harvest, both parsers", MORE, "both"),
)  # fmt: skip
MORE_LABELS = (
    ("baseline", "baseline (no generation)", BOUNDARIES),
    ("attested-bert", "attested, the best of 16 by BERT", MORE),
    ("harvest", "harvest, parser of 2,500 trees", MORE),
    ("harvest-labelled", "harvest, parser of L's 500 trees", TREES),
)
FILTERED = ("t5", "bert", "self-trained")


class Tables:
    """Cells of the tables: ``seeds`` are those of the baseline; a cell says where a row has fewer."""

    def __init__(self, study: Study, outcomes: Outcomes) -> None:
        self._study, self._outcomes = study, outcomes
        self.seeds = sorted(s for *of, s in outcomes.runs if of == ["baseline", "250"])

    def _share(self, system: str, category: str) -> str:
        """Mean accuracy in one category over the seeds, in per cent."""
        runs = self._outcomes.of(system, "250", self.seeds).values()
        right = [bit for run in runs for bit in self._outcomes.right(run, category)]
        return f"{100 * sum(right) / len(right):.1f}" if right else "–"

    def row(self, row: tuple[str, str, str, str]) -> Sequence[str]:
        """Name, annotation, accuracy by category, overall, and gain over the row that it varies."""
        system, name, annotation, varied = row
        return (
            name,
            annotation,
            *(self._share(system, category) for category in SHOWN),
            self._study.accuracy(system, "250", self.seeds),
            self._study.gain(system, varied, "250", self.seeds) if varied else "",
        )

    def with_500(self, row: tuple[str, str, str]) -> Sequence[str]:
        """Name, annotation and accuracy with 500 labelled sentences."""
        system, name, annotation = row
        return name, annotation, self._study.accuracy(system, "500", THREE)

    def accepted(self, system: str) -> str:
        """The share of the candidates examined that δ let through, by seed."""
        runs = self._outcomes.of(system, "250", self.seeds).values()
        return ", ".join(f"{run['accepted'] / run['seen']:.0%}" for run in runs)


def main() -> None:
    """Print the tables, and which rows have no run yet."""
    study = Study(Path("data/genia"))
    if study.outcomes is None:
        sys.exit("no runs are kept: call outcomes.py first")
    known = {(system, size) for system, size, _ in study.outcomes.runs}
    tables, head = Tables(study, study.outcomes), ["annotated", *SHOWN, "overall"]
    print(f"250 labels, 2,000 updates, seeds {', '.join(map(str, tables.seeds))}\n")
    run = [row for row in ROWS if (row[0], "250") in known]
    print_table(["test", *head, "to the row it varies"], map(tables.row, run))
    print("The same with 4,000 updates\n")
    longer = [row for row in LONG if (row[0], "250") in known]
    print_table(["test", *head, "to 2,000 updates"], map(tables.row, longer))
    print("500 labels, 2,000 updates, seeds 0 to 2\n")
    more = [row for row in MORE_LABELS if (row[0], "500") in known]
    print_table(["test", "annotated", "overall"], map(tables.with_500, more))
    shares = (f"{system} {tables.accepted(system)}" for system in FILTERED)
    print(f"Accepted with δ = 0.7, by seed: {'; '.join(shares)}\n")
    missing = [f"{row[0]} 250" for row in (*ROWS, *LONG) if row not in (*run, *longer)]
    missing += [f"{row[0]} 500" for row in MORE_LABELS if row not in more]
    if missing:
        print(f"No run yet of: {', '.join(missing)}")


if __name__ == "__main__":
    main()

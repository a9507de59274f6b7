"""The tables of docs/results.md on the embedded world, from the runs of experiments/attested-study.yaml.

Usage, after the study (see README.md here) and `conjoin evaluate data/world`:
    python benchmarks/embedded_world/study_tables.py data/world

Gains are mean paired differences in points with 95 % bootstrap intervals over seeds and test instances, as
`conjoin evaluate` computes them, but over the seeds that a table names.
"""

import argparse
import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
from benchmarks.table_parts import Study, print_table

TEN, TWENTY = range(10), [*range(10), *range(20, 30)]
SIZES = ("50", "100", "250")
MAIN = {
    "baseline": "baseline (no generation)",
    "bert": "free, by BERT, δ = 0.7 (the paper)",
    "bert-no-filter": "&nbsp;&nbsp; − filtering",
    "t5": "free, by T5, δ = 0.7 (the paper)",
    "t5-no-filter": "&nbsp;&nbsp; − filtering",
    "unranked": "attested, unranked (control)",
    "attested-bert": "attested, the best of 16 by BERT",
    "attested-t5": "attested, the best of 16 by T5",
    "attested-head": "attested, the best of 16 by BERT, heads match",
}
LEARNING = {
    "δ = 0.7 (the paper)": ("study-attested-delta", "t5"),
    "δ = 0.7, K_max 128": ("study-attested-delta-128", "study-t5-delta-128"),
    "the best half of each label": ("study-attested-quantile", "study-t5-quantile"),
    "no filter": ("attested-bert", "t5-no-filter"),
    "no filter, λ = 0.25": ("study-attested-025", "study-t5-025"),
    "no filter, λ = 0.5": ("study-attested-05", "study-t5-05"),
    "no filter, λ = 1": ("study-attested-1", "study-t5-1"),
}
SELECTION = (
    ("paper-baseline", "baseline"),
    ("paper-t5", "t5"),
    ("paper-attested", "attested-bert"),
)


def _main_cells(study: Study, system: str, size: str) -> tuple[str, str]:
    gain = "" if system == "baseline" else study.gain(system, "baseline", size, TEN)
    return study.accuracy(system, size, TEN), gain


def main(corpus: Path) -> None:
    """Print all tables."""
    study = Study(corpus)
    print(
        "Accuracy and gain over the baseline, seeds 0 to 9. The baseline knows L's boundaries, other rows "
        "the trees of the corpus's parser as well: gains are across annotation\n"
    )
    head = [text for size in SIZES for text in (f"{size} labels", "gain")]
    print_table(
        ["test", *head],
        (
            [name, *(cell for size in SIZES for cell in _main_cells(study, system, size))]
            for system, name in MAIN.items()
        ),
    )
    print("What ranking adds: over the unranked control\n")
    ranked = {name: text for name, text in MAIN.items() if re.match("attested-", name)}
    print_table(
        ["test", *(f"{size}, seeds 0 to 9" for size in SIZES), "100, twenty seeds"],
        (
            [
                text,
                *(study.gain(name, "unranked", size, TEN) for size in SIZES),
                study.gain(name, "unranked", "100", TWENTY) if name == "attested-bert" else "",
            ]
            for name, text in ranked.items()
        ),
    )
    print("Learning from candidates, 100 labels, seeds 0 to 9\n")
    print_table(
        [
            "",
            *["attested", "accepted", "gain", "against no filter"],
            *["T5", "accepted", "gain", "against no filter"],
        ],
        (
            [text]
            + [
                cell
                for system, full in zip(pair, ("attested-bert", "t5-no-filter"), strict=True)
                for cell in (
                    study.accuracy(system, "100", TEN),
                    study.accepted(system, "100", TEN),
                    study.gain(system, "baseline", "100", TEN),
                    "" if system == full else study.gain(system, full, "100", TEN),
                )
            ]
            for text, pair in LEARNING.items()
        ),
    )
    print("Starvation: δ = 1, so 8 labelled sentences a batch and nothing else, seeds 0 to 9\n")
    print_table(
        ["labels", "baseline", "δ = 1", "difference"],
        (
            [size, study.accuracy("baseline", size, TEN), study.accuracy("starved", size, TEN),
             study.gain("starved", "baseline", size, TEN)]
            for size in ("100", "full")
        ),
    )  # fmt: skip
    print(
        "The best of 50 validation sentences (the paper) instead of the last weights, 100 labels\n"
    )
    print_table(
        ["", "last weights", "best validated", "difference", "its gain over its baseline"],
        (
            [MAIN[last], study.accuracy(last, "100", TEN), study.accuracy(best, "100", TEN),
             study.gain(best, last, "100", TEN),
             "" if last == "baseline" else study.gain(best, "paper-baseline", "100", TEN)]
            for best, last in SELECTION
        ),
    )  # fmt: skip


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, help="the corpus folder: data/world")
    main(parser.parse_args().folder)

"""How often are all conjuncts right, of structures of two and of three and more? Tables of evaluations.

Of each corpus folder, from the rows of its last `conjoin evaluate`: every system's four criteria, in % with
the 95 % bootstrap interval over seeds and documents, sentences where all are of one document; exact of those
whose outer boundary is right; and how many pairs of structures of a sentence are inconsistent, that is
neither apart nor one within a conjunct of the other.

    python benchmarks/conjuncts/conjuncts_tables.py data/study/genia-minilm data/study/gum-minilm
"""

import argparse
import re
import sys
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
from pipeline.core.documents import read_json
from pipeline.core.parquet import read_rows
from pipeline.core.schema import PREDICTIONS, read_sentences
from pipeline.core.types import CRITERIA, Coordination, Span
from pipeline.tasks.coordination.consistent import are_consistent
from pipeline.tasks.coordination.figures import judge
from pipeline.tasks.coordination.instances import Row, predicted

_RESAMPLES = 2000
_GROUPS = {"two": (2, 2), "three and more": (3, 99), "all": (2, 99)}

Verdicts = Mapping[str, list[tuple[int, dict[str, bool]]]]
"""By document: of each instance how many conjuncts it has, and what is right of it."""


def main() -> None:
    """Print the tables of each folder."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("corpora", type=Path, nargs="+")
    for corpus in parser.parse_args().corpora:
        _tables(corpus)


def _tables(corpus: Path) -> None:
    metrics = read_json(corpus / "evaluation/metrics.json")
    by_sentence = metrics["resampled"] == "instances"  # all are of one document
    documents = {
        s.sentence_id: s.sentence_id if by_sentence else s.doc_id
        for s in read_sentences(corpus / "sentences.parquet")
    }
    systems: dict[str, list[list[Row]]] = defaultdict(list)
    for path in sorted((corpus / "evaluation/predictions").glob("*.parquet")):
        if match := re.fullmatch(r"(?!parsed\.)(.+-\d+)-\d+", path.stem):
            systems[match[1]].append(list(read_rows(path, PREDICTIONS)))
    print(f"\n{corpus.name}, {metrics['split']}, % with 95 % intervals")
    for group, (least, most) in _GROUPS.items():
        print(f"\n|{group}: system|seeds|structures|{'|'.join(CRITERIA)}|exact of whole|")
        print("|---|" + "---:|" * (3 + len(CRITERIA)))
        for name, seeds in systems.items():
            judged = [_verdicts(rows, documents, least, most) for rows in seeds]
            count = sum(map(len, judged[0].values()))
            cells = [_cell(judged, criterion, None) for criterion in CRITERIA]
            ratio = _cell(judged, "exact", "whole")
            print(f"|{name}|{len(seeds)}|{count:,}|{'|'.join(cells)}|{ratio}|")
    print("\n|system|inconsistent pairs|of pairs|\n|---|---:|---:|")
    for name, seeds in systems.items():
        pairs = [pair for rows in seeds for pair in _pairs(rows)]
        print(f"|{name}|{sum(not are_consistent(*pair) for pair in pairs):,}|{len(pairs):,}|")


def _verdicts(rows: Sequence[Row], documents: Mapping[str, str], least: int, most: int) -> Verdicts:
    found: dict[str, list[tuple[int, dict[str, bool]]]] = defaultdict(list)
    for row in rows:
        spans = tuple(Span(span["start"], span["end"]) for span in row["gold"])
        if least <= len(spans) <= most:
            gold = Coordination(row["coordinator"], row["word"], row["label"], spans)
            verdict = judge(gold, predicted(row))
            found[documents[row["sentence_id"]]].append((len(spans), verdict))
    return found


def _cell(seeds: Sequence[Verdicts], criterion: str, of: str | None) -> str:
    """Instances that are right by a criterion over all, or over those right by another, in %."""
    names = list(seeds[0])
    counts = np.array(
        [
            [
                (
                    sum(v[criterion] for _, v in each[name]),
                    sum(of is None or v[of] for _, v in each[name]),
                )
                for name in names
            ]
            for each in seeds
        ]
    )  # [seeds, documents, 2]
    random = np.random.default_rng(0)
    shares = []
    for _ in range(_RESAMPLES):
        some = counts[random.integers(len(seeds), size=len(seeds))]
        right, every = some[:, random.integers(len(names), size=len(names))].sum((0, 1))
        shares.append(right / every if every else np.nan)
    right, every = counts.sum((0, 1))
    if not every:
        return "–"
    low, high = np.nanquantile(shares, (0.025, 0.975))
    return f"{100 * right / every:.1f} [{100 * low:.1f}, {100 * high:.1f}]"


def _pairs(rows: Sequence[Row]) -> Iterator[tuple[list[Span], list[Span]]]:
    """The conjuncts of every two structures that were predicted in one sentence."""
    sentences: dict[str, list[list[Span]]] = defaultdict(list)
    for row in rows:
        if spans := predicted(row):
            sentences[row["sentence_id"]].append(spans)
    for structures in sentences.values():
        yield from combinations(structures, 2)


if __name__ == "__main__":
    main()

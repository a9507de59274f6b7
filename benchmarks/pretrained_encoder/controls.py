"""Is it the filter that helps, or are fewer rows enough? Controls of the believed harvest.

For draws whose believed harvest pretrained_study.py has made, two more folders of candidates, and a predictor
of each, as long as all others and at level 2 with L's brackets, as the rows it stands beside:

- ``random``: as many rows of the harvest, of sentences drawn whole;
- ``gold``: the rows that were believed, with the boundaries that the treebank has at their coordinators. What
  it does not have there is left out. Nobody who has 250 annotated sentences has these: it is the most that
  a repair of the parser's boundaries could give.

    python benchmarks/pretrained_encoder/controls.py --corpus data/study/gum-level-2 --seeds 0 1
"""

import argparse
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
from benchmarks.pretrained_encoder.pretrained_study import BRACKETS, COSTS, PARSERS, Chain
from benchmarks.units import Unit, run
from pipeline.core.candidates import candidate_shards
from pipeline.core.parquet import write_rows
from pipeline.core.schema import CANDIDATES, candidate_row, read_candidates, read_sentences
from pipeline.core.types import Candidate, Coordination


def rows_of(folder: Path) -> Iterator[Candidate]:
    """The rows of a folder of candidates."""
    for shard in candidate_shards(folder):
        yield from read_candidates(shard)


def corrected(
    rows: Sequence[Candidate], gold: dict[tuple[str, int], Coordination]
) -> Iterator[Candidate]:
    """Harvested rows with the boundaries that the treebank has at their coordinators.

    Args:
        rows: of a harvest, whose words are the sentence's own.
        gold: by sentence id and coordinator; rows without are left out.
    """
    for row in rows:
        found = gold.get((row.sentence_id, row.coordinator))
        if found is not None:
            yield replace(
                row, conjuncts=found.conjuncts, label=found.label, reference=found.conjuncts[0]
            )


def make(chain: Chain) -> None:
    """Write both folders of a draw, and say how many rows they have."""
    believed = list(rows_of(Path(chain.candidates("believed"))))
    ids = {row.sentence_id for row in believed}
    sentences = read_sentences(chain.corpus / "sentences.parquet", lambda s: s.sentence_id in ids)
    gold = {(s.sentence_id, c.coordinator): c for s in sentences for c in s.coordinations}
    rows = list(corrected(believed, gold))
    right = sum(
        gold[row.sentence_id, row.coordinator].conjuncts == row.conjuncts
        for row in believed
        if (row.sentence_id, row.coordinator) in gold
    )
    for name in ("gold", "random"):
        shutil.rmtree(chain.candidates(name), ignore_errors=True)
    out = Path(chain.candidates("gold"), "candidates-00000.parquet")
    out.parent.mkdir(parents=True)
    write_rows(out, CANDIDATES, map(candidate_row, rows))
    line = ["select", chain.candidates("harvest"), "--sample", "random-sentences"]
    line += ["--size", str(len(believed)), "--seed", str(chain.seed)]
    line += ["--out", chain.candidates("random")]
    subprocess.run([sys.executable, "-m", "pipeline", *line], check=True)  # noqa: S603 - our own command
    print(
        f"{chain.corpus.name} {chain.at}: {len(believed):,} believed, {right:,} of them right, "
        f"{len(rows):,} with a gold coordination"
    )


def trainings(chain: Chain) -> list[Unit]:
    """The predictors of both folders."""
    brackets, suffix = (BRACKETS, "-brackets") if chain.level == 2 else ((), "")
    return [
        chain.learn(f"{name}{suffix}", name, name, *brackets)._replace(needs=())
        for name in ("random", "gold")
    ]


def main(given: argparse.Namespace) -> None:
    """Make the folders of every draw, and train."""
    units = []
    for seed in given.seeds:
        chain = Chain(
            given.corpus,
            given.labelled,
            seed,
            given.encoder,
            given.updates,
            level=given.level,
            precision=given.mixed_precision,
        )
        make(chain)
        units += trainings(chain)
    run(units, given.corpus, COSTS, given.jobs, 1000.0)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--corpus", type=Path, required=True)
    parser.add_argument("--encoder", type=Path, default=Path("data/models/minilm"))
    parser.add_argument("--level", type=int, choices=PARSERS, default=2)
    parser.add_argument("--labelled", default="250")
    parser.add_argument("--seeds", type=int, nargs="+", required=True)
    parser.add_argument("--updates", type=int, default=1200)
    parser.add_argument("--mixed-precision", choices=("no", "bf16"), default="no")
    parser.add_argument("--jobs", type=int, default=2)
    return parser.parse_args()


if __name__ == "__main__":
    main(_options())

"""Does EWT's dependency parser harvest from GUM as well as a constituency parser of another corpus?

Stanza's ``depparse``, small, learns from EWT's trees and reads GUM's training sentences outside L; ``harvest
--parser treebank`` takes its coordinations. They are compared with GUM's own, beside a harvest that is there,
of the same sentences. See README.md here.
"""

import argparse
import random
import sys
from collections import Counter
from dataclasses import replace
from pathlib import Path

import torch

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
from benchmarks.depparse import Depparse, conjoin, once, read, tagged, write_plain, write_trees
from benchmarks.genia.harvest_precision import gold_of, training_sentences
from pipeline.core.candidates import candidate_shards
from pipeline.core.console import table
from pipeline.core.draws import read_draw
from pipeline.core.schema import read_candidates
from pipeline.core.types import Sentence, holds_coordinator
from pipeline.text.dependencies import ABSENT

LICENCE = "CC-BY-SA-4.0"
"""Of EWT; GUM's documents have several, so what is made of these stays here."""

PARSED = "parsed.conllu"
"""The text that came parsed: ids of its sentences have GUM's behind this name."""


def harvested(options: argparse.Namespace, sentences: list[Sentence]) -> Path:
    """The candidates that EWT's parser finds in sentences; what is there is not made again."""
    work: Path = options.work
    learned, parsed = work / "treebank/en_ewt-ud-train.conllu", work / PARSED
    every = read(sorted(options.treebank.glob("*-ud-train.conllu*"))[0])
    drawn = random.Random(f"{options.seed}/{options.trees}").sample(every, options.trees)
    once(learned, lambda out: write_trees(drawn, out))
    plain = work / "learned.conllu"
    once(plain, lambda out: write_plain(drawn, out))
    parser = Depparse(
        work / "parser.pt", plain, options.seed, options.updates, "en_ewt", tags=False
    )
    asked = [tagged(each.words, [ABSENT] * len(each.words)) for each in sentences]
    once(parsed, lambda out: write_trees((
        replace(tree, comments=(f"# sent_id = {each.sentence_id}",))
        for tree, each in zip(parser.parse(asked), sentences, strict=True)
    ), out))  # fmt: skip
    corpus = work / "corpus"
    conjoin(
        "ingest", "conllu", learned.parent, "--license", LICENCE, "--unlabelled", parsed,
        "--labelled", "full", "--seeds", options.seed, "--out", corpus,
    )  # fmt: skip
    out = corpus / "candidates/harvest"
    conjoin(
        "harvest", corpus, "--parser", "treebank", "--labelled", "full", "--seed", options.seed, "--out", out
    )  # fmt: skip
    return out


def main(options: argparse.Namespace) -> None:
    """Harvest, and print both harvests' coordinators, and how many of them are right."""
    drawn = {s.sentence_id for part in read_draw(options.corpus, options.seed, "250") for s in part}
    sentences = [
        each for each in training_sentences(options.corpus)
        if each.sentence_id not in drawn and holds_coordinator(each.words)
    ]  # fmt: skip
    gold = gold_of(sentences)
    rows = []
    for name, folder in (("EWT's, of dependencies", harvested(options, sentences)),
                         ("the other", options.harvest)):  # fmt: skip
        counts: Counter[str] = Counter()
        for shard in candidate_shards(folder):
            for row in read_candidates(shard):
                own = row.sentence_id.rpartition(f"/{PARSED}/")[2]
                known = gold.get((own, row.coordinator))
                ends = (row.conjuncts[0].start, row.conjuncts[-1].end)
                outer = known is not None and (known.start, known.end) == ends
                exact = known is not None and known.conjuncts == row.conjuncts
                counts.update({"all": 1, "gold": known is not None, "outer": outer, "exact": exact})
        shares = [100 * counts[each] / counts["all"] for each in ("gold", "outer", "exact")]
        shares.append(100 * counts["outer"] / len(gold))
        rows.append((name, counts["all"], counts["outer"], *(f"{share:.1f}" for share in shares)))
    table(
        f"{len(gold):,} gold coordinations in {len(sentences):,} sentences with a coordinator",
        ("parser", "rows", "outer right", "in gold, %", "outer, %", "all conjuncts, %", "of gold, %"), rows,
    )  # fmt: skip


if __name__ == "__main__":
    torch.set_num_threads(1)
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "corpus", type=Path, help="GUM with a draw of 250, e.g. data/study/gum-level-1"
    )
    parser.add_argument("harvest", type=Path, help="what another parser harvested there")
    parser.add_argument(
        "--treebank", type=Path, required=True, help="folder with EWT's *-ud-train.conllu*"
    )
    parser.add_argument("--seed", type=int, default=2, help="of the draw, and of the parser")
    parser.add_argument("--trees", type=int, default=2500)
    parser.add_argument("--updates", type=int, default=1200)
    parser.add_argument("--work", type=Path, default=Path("data/harvest-study"))
    main(parser.parse_args())

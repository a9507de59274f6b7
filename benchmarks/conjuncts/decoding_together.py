"""What does it change to choose the structures of a sentence together, and where no coordinator is given?

Of every sentence of a split and every coordinator word in it, as `conjoin predict` asks: each coordinator by
itself (Eq. 3), or the most probable consistent structures, as `predict` gives them; with the parser by τ
beside, too. Precision, recall and F of structures, by the four criteria: a coordinator word that the treebank
has no coordination at (it begins a sentence, say) makes a structure that is wrong, and one that is no such
word ("versus") a structure that is missed.

    python benchmarks/conjuncts/decoding_together.py data/study/gum-level-1 --run believed/250/seed-2 \
        --parser data/study/gum-level-1/parser
"""

import argparse
import sys
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
from benchmarks.said import gain
from benchmarks.table_parts import print_table
from pipeline.core.comparison import Counts, documents_of
from pipeline.core.corpus_folder import SENTENCES_FILE
from pipeline.core.runs import TOGETHER
from pipeline.core.schema import read_sentences
from pipeline.core.types import COORDINATORS, CRITERIA, Sentence, Span
from pipeline.evaluate.parsers import structures_of
from pipeline.parsing.card import corpus_parser
from pipeline.tasks.coordination.consistent import are_consistent
from pipeline.tasks.coordination.figures import judge
from pipeline.tasks.coordination.model import CoordinationPredictor
from pipeline.tasks.coordination.with_parser import both_answers
from pipeline.text.lines import GivenSentence
from pipeline.trying.predict.answers import Found, Parse, ParsedSentence, answers

Structures = Sequence[Mapping[int, Sequence[Span]]]
"""Of each sentence the conjuncts at its coordinators."""


def apart(model: CoordinationPredictor, sentences: Sequence[Sentence], parse: Parse) -> Structures:
    """Each coordinator by itself; what the parser finds stands by τ."""
    parsed = parse([sentence.words for sentence in sentences])
    asked = [
        (n, k)
        for n, s in enumerate(sentences)
        for k, w in enumerate(s.words)
        if w.lower() in COORDINATORS
    ]
    words, ks = [sentences[n].words for n, _ in asked], [k for _, k in asked]
    structures = [parsed[n].structures.get(k) for n, k in asked]
    found: list[dict[int, Sequence[Span]]] = [{} for _ in sentences]
    said = both_answers(model, words, ks, structures)
    for (n, k), structure, each in zip(asked, structures, said, strict=True):
        if structure and each.takes_structure(TOGETHER):
            found[n][k] = structure.conjuncts
        elif each.best:
            found[n][k] = each.best.conjuncts
    return found


def together(
    model: CoordinationPredictor, sentences: Sequence[Sentence], parse: Parse
) -> Structures:
    """As ``conjoin predict`` gives them."""
    given = [GivenSentence(tuple(s.words), n) for n, s in enumerate(sentences)]
    return [
        {each.coordinator: each.conjuncts for each in answer.entries if isinstance(each, Found)}
        for answer in answers(model, given, parse=parse)
    ]


def counted(sentences: Sequence[Sentence], found: Structures, criterion: str) -> Counts:
    """Of each sentence how many structures are right, found and there, ``[sentences, 1, 3]``."""
    rows = np.zeros((len(sentences), 1, 3), dtype=np.int64)
    for row, s, own in zip(rows, sentences, found, strict=True):
        gold = {each.coordinator: each for each in s.coordinations}
        right = sum(judge(gold[k], spans)[criterion] for k, spans in own.items() if k in gold)
        row[0] = right, len(own), len(gold)
    return rows


def pairs(found: Structures) -> Iterator[tuple[Sequence[Span], Sequence[Span]]]:
    """Every two structures of a sentence."""
    for own in found:
        yield from combinations(own.values(), 2)


def main() -> None:
    """Print a table of a run."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("corpus", type=Path)
    parser.add_argument("--run", required=True, help="SYSTEM/DRAW/seed-N")
    parser.add_argument("--parser", type=Path, help="folder of a parser")
    parser.add_argument("--split", default="test")
    given = parser.parse_args()
    model = CoordinationPredictor.load(given.corpus / "runs" / given.run / "predictor").eval()
    path = given.corpus / SENTENCES_FILE
    sentences = list(read_sentences(path, lambda sentence: sentence.split == given.split))
    documents = documents_of([sentence.doc_id for sentence in sentences])
    words = sum(w.lower() in COORDINATORS for s in sentences for w in s.words)
    print(
        f"{given.corpus.name}, {given.run}, {given.split}: {len(sentences):,} sentences,", end=" "
    )
    print(f"{sum(len(s.coordinations) for s in sentences):,} structures, {words:,} coordinators\n")

    def nothing(texts: Sequence[Sequence[str]]) -> list[ParsedSentence]:
        return [ParsedSentence() for _ in texts]

    systems: dict[str, Structures] = {
        "apart": apart(model, sentences, nothing),
        "together": together(model, sentences, nothing),
    }
    if given.parser:
        loaded = corpus_parser(given.parser)
        own = dict(
            zip(
                [tuple(s.words) for s in sentences],
                structures_of(loaded, sentences).found,
                strict=True,
            )
        )

        def parse(texts: Sequence[Sequence[str]]) -> list[ParsedSentence]:
            return [ParsedSentence(own[tuple(text)]) for text in texts]

        systems["parser"] = [
            {k: each.conjuncts for k, each in own[tuple(s.words)].items()} for s in sentences
        ]
        systems["with the parser, apart"] = apart(model, sentences, parse)
        systems["with the parser, together"] = together(model, sentences, parse)
    rows = []
    for name, found in systems.items():
        crossing = [not are_consistent(*pair) for pair in pairs(found)]
        cells = [f"{sum(crossing):,} of {len(crossing):,}"]
        for criterion in CRITERIA:
            counts = counted(sentences, found, criterion)
            right, said, there = counts.sum((0, 1))
            figures = 100 * right / said, 100 * right / there, 200 * right / (said + there)
            cells.append(" / ".join(f"{figure:.1f}" for figure in figures))
        if "together" in name:
            before = systems[name.replace("together", "apart")]
            of, over = ({0: counted(sentences, each, "whole")} for each in (found, before))
            cells.append(gain(of, over, documents)[0])
        else:
            cells.append("")
        rows.append([name, *cells])
    print_table(["P / R / F", "crossing", *CRITERIA, "whole F, together over apart"], rows)


if __name__ == "__main__":
    main()

"""A small corpus of sentences with a connective, as gold trees."""

from collections.abc import Iterable
from pathlib import Path

import tiny

from pipeline.core.parquet import write_rows
from pipeline.core.schema import SENTENCES, sentence_row
from pipeline.core.types import Sentence
from pipeline.text.trees import parse_tree, read_off

BAKER = "(S (NP (DT the) (NN baker)) (VP (VBD dropped) (NP (DT the) (NN jar))))"
BROKE = "(S (NP (PRP it)) (VP (VBD broke)))"
JAR_BROKE = "(S (NP (DT the) (NN jar)) (VP (VBD broke)))"
CLERK = "(S (NP (DT the) (NN clerk)) (VP (VBD dropped) (NP (DT the) (NN vase))))"
RAN = "(S (NP (DT the) (NN baker)) (VP (VBD ran)))"


def so(former: str, latter: str) -> str:
    """``the baker dropped the jar , so it broke``."""
    return f"(S1 (S {former} (, ,) (IN so) {latter} (. .)))"


def before(word: str, former: str, latter: str) -> str:
    """``if the baker dropped the jar , it broke``."""
    return f"(S1 (S (SBAR {word} {former}) (, ,) {latter[3:-1]} (. .)))"


def behind(word: str, former: str, latter: str) -> str:
    """``the jar broke because the baker dropped it``."""
    return f"(S1 (S {latter[3:-2]} (SBAR {word} {former})) (. .)))"


BECAUSE, IF, SINCE = "(IN because)", "(IN if)", "(IN since)"
WHEN = "(WHADVP (WRB when))"

TREES = [
    so(BAKER, BROKE),
    before(IF, BAKER, JAR_BROKE),
    behind(BECAUSE, CLERK, "(S (NP (DT the) (NN vase)) (VP (VBD broke)))"),
    f"(S1 {BAKER})",
    behind(SINCE, BAKER, JAR_BROKE),
    before(WHEN, BAKER, RAN),
    so(BAKER, "(S (NP (DT this)) (VP (VBD broke)))"),
    so(CLERK, BROKE),
]
"""Of eight sentences seven have a connective; a *since* behind the other clause is none."""


def sentence(number: int, tree: str, split: str = "train", licence: str = "CC0-1.0") -> Sentence:
    words, tags, bracketing = read_off(parse_tree(tree))
    return Sentence(f"c/{number}", "d", split, words, tags, bracketing, (), licence)


def corpus_of(folder: Path, sentences: Iterable[Sentence] | None = None) -> Path:
    """A corpus folder of these sentences, or of ``TREES``."""
    every = [sentence(n, tree) for n, tree in enumerate(TREES)] if sentences is None else sentences
    write_rows(folder / "sentences.parquet", SENTENCES, map(sentence_row, every))
    return tiny.ingested(folder)

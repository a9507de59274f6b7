"""Do coordinations that conjoin makes help a dependency parser that has learned from few trees?

The parser is stanza's ``depparse``, small, UDPipe's or spaCy's, trained here from nothing. L is drawn from a
treebank's training part, U is the rest of it without its annotation. What a row learns from, beside L:

- ``alone``: nothing;
- ``own``: candidates whose sources and fills are L's;
- ``unranked``: candidates of U and L, as the parser ``alone`` reads U; their fills are constituents of both;
- ``ranked``: the same, each fill the one that a masked language model prefers of 16;
- ``harvested``: sentences of U in which that parser finds a coordination, as it reads them;
- ``parsed``: sentences of U in which it finds none (is it the coordinations, or more text?);
- ``gold``: the treebank's trees of the sentences of ``harvested``, which people annotated.

So all rows but ``gold`` have the annotation of L alone. Where L is the whole training part there is no U, and
``alone`` and ``own`` can be made. A file that is there is not made again. See README.md here;
``coordinated_tables.py`` prints what came of it.
"""

import argparse
import random
import sys
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import torch

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
from benchmarks.depparse import (
    Depparse,
    SpacyParser,
    UdPipe,
    conjoin,
    once,
    read,
    tagged,
    write_plain,
    write_trees,
)
from pipeline.core.files import write_json
from pipeline.parsing.tagging import Tagger, train_tagger
from pipeline.text.dependencies import DependencyTree
from pipeline.text.dependency_phrases import phrases_of

ALONE, GOLD = "alone", "gold"
OWN, UNRANKED, RANKED = "own", "unranked", "ranked"
MADE = (OWN, UNRANKED, RANKED)
READ = ("harvested", "parsed")
ROWS = (ALONE, *MADE, *READ, GOLD)
USUAL_ROWS = tuple(row for row in ROWS if row != RANKED)  # it needs a model

COUNTED = (
    "words", "uas", "las", "content", "content_found", "content_right",
    "conj", "conj_found", "conj_right", "cc", "cc_found", "cc_right",
)  # fmt: skip
"""What is counted in each sentence: words, right heads, right heads and relations; content words (CLAS),
conjuncts and coordinators of gold and of the parser, and those that are right."""

FUNCTIONAL = frozenset({"aux", "case", "cc", "clf", "cop", "det", "mark", "punct"})
"""Relations of words that are no content words, as ``udtools.udeval`` has them."""

TINY = ("--hidden", 32, "--layers", 1, "--steps", 10, "--vocab-size", 1500)

USUAL = {"stanza": 400, "udpipe": 10, "spacy": 1000}
"""By parser, its updates, of UDPipe iterations, where none are asked for."""

LICENCE = "CC-BY-SA-4.0"
"""Of both treebanks."""

POOL = 16
"""Fills that a model chooses among."""

ALL = "all"
"""As the size of L: every sentence of the training part."""

LEAST_WORDS = 5
"""Of a source sentence: L has few; where it is all there is, the usual 10."""


class Study:
    """One size of L of one treebank; everything lies below ``work``."""

    def __init__(self, options: argparse.Namespace) -> None:
        self._options = options
        name = f"{options.treebank.name}-{options.size}" + "-tags" * options.tags
        name += f"-{options.parser}" * (options.parser != "stanza")
        name += "-features" * (options.match == "features")
        self._work: Path = options.work / name
        train, dev, test = (
            sorted(options.treebank.glob(f"*-ud-{part}.conllu*"))[0]
            for part in ("train", "dev", "test")
        )
        self._language = train.name.partition("-")[0]
        self._train = read(train)
        self._size = len(self._train) if options.size == ALL else options.size
        self._measured_on = read(dev if options.split == "dev" else test)

    def run(self, seed: int) -> None:
        """The rows of a draw."""
        for row in self._options.rows:
            learned = self._learned(row, seed)
            updates = self._options.alone if row == ALONE else self._options.updates

            def measure(
                out: Path, row: str = row, learned: Path = learned, updates: int = updates
            ) -> None:
                found = self._parser(row, seed).parse(self._asked(seed))
                counts = [counted(*pair) for pair in zip(self._measured_on, found, strict=True)]
                others = 0 if row == ALONE else len(read(self._others(row, seed)))
                words = sum(len(tree.words) for tree in read(learned))
                write_json(out, {"seed": seed, "updates": updates, "others": others, "words": words,
                                 "copies": self._options.copies, "counts": counts})  # fmt: skip

            once(learned.parent / f"{self._options.split}-{updates}.json", measure)

    def _asked(self, seed: int) -> Sequence[DependencyTree]:
        """What is measured on; for UDPipe, which reads tags, with those that a tagger of L finds."""
        if self._options.parser == "udpipe":
            return self._with_tags(self._measured_on, seed)
        return self._measured_on

    def _parser(self, row: str, seed: int) -> Depparse | UdPipe | SpacyParser:
        learned = self._learned(row, seed)
        updates = self._options.alone if row == ALONE else self._options.updates
        path = learned.parent / f"parser-{updates}.pt"
        if self._options.parser == "udpipe":
            return UdPipe(path, learned, updates)
        if self._options.parser == "spacy":
            return SpacyParser(path, learned, seed, updates, self._language)
        return Depparse(path, learned, seed, updates, self._language, tags=self._options.tags)

    def _learned(self, row: str, seed: int) -> Path:
        """What a row learns from: L, as often as is wanted, and the other sentences."""
        own = self._draw(seed)[0]
        if row == ALONE:
            path = self._place(seed) / ALONE / "train.conllu"
            once(path, lambda out: write_plain(own, out))
            return path
        name = f"{row}-{self._options.times:g}-{self._options.copies}"
        path = self._place(seed) / name / "train.conllu"
        others = self._others(row, seed)
        copies = self._options.copies
        once(path, lambda out: write_plain([*own * copies, *read(others)], out))
        return path

    def _others(self, row: str, seed: int) -> Path:
        """The sentences that a row learns from beside L."""
        path = self._place(seed) / f"{row}-{self._options.times:g}.conllu"
        once(path, lambda out: write_trees(self._drawn(row, seed), out))
        return path

    def _drawn(self, row: str, seed: int) -> list[DependencyTree]:
        """As many as are wanted, or all that there are."""
        if row in MADE:
            every = read(self._exported(row, seed))
        else:
            parsed, gold = read(self._parsed(seed)), self._draw(seed)[1]
            joined = [bool(phrases_of(tree).coordinations) for tree in parsed]
            trees = gold if row == GOLD else parsed
            wanted = row != "parsed"
            every = [tree for tree, has in zip(trees, joined, strict=True) if has == wanted]
        # The same sentences for `harvested` and `gold`.
        random.Random(f"others/{seed}").shuffle(every)
        return every[: round(self._options.times * self._size)]

    def _parsed(self, seed: int) -> Path:
        """U as the parser of L reads it, with the tags that a tagger of L finds."""
        path = self._place(seed) / "parsed.conllu"
        once(path, lambda out: write_trees(
            self._parser(ALONE, seed).parse(self._with_tags(self._draw(seed)[1], seed)), out))  # fmt: skip
        return path

    def _with_tags(self, trees: Sequence[DependencyTree], seed: int) -> list[DependencyTree]:
        """Words with the tags that a tagger of L finds: a treebank's own are annotation, too."""
        own = self._draw(seed)[0]
        path = self._place(seed) / "tagger.json"
        once(path, lambda out: train_tagger(
            out, (([w.form for w in t.words], [w.upos for w in t.words]) for t in own), seed))  # fmt: skip
        tagger = Tagger(path)
        words = ([word.form for word in tree.words] for tree in trees)
        return [tagged(each, tagger.tag(each)) for each in words]

    def _exported(self, row: str, seed: int) -> Path:
        """Candidates with their trees."""
        corpus = self._corpus(OWN if row == OWN else UNRANKED, seed)
        candidates = corpus / ("ranked" if row == RANKED else "candidates")
        exported = candidates.with_suffix(".conllu")
        if exported.exists():
            return exported
        # Where nothing is ranked, what matters of the model is its tokenizer.
        pool, model = 1, corpus / "models/bert/seed-0"
        if row == RANKED:
            pool, model = POOL, self._options.masked_lm
        conjoin(
            "generate", corpus, "--fills", "attested", "--pool", pool,
            "--match", self._options.match, "--lm", "bert", "--model", model,
            "--references", self._options.references, "--seed", seed, "--out", candidates,
        )  # fmt: skip
        conjoin("export", candidates, "--format", "conllu", "--out", exported)
        return exported

    def _corpus(self, row: str, seed: int) -> Path:
        """L, and U but for ``own``, with the constituents of their trees and a tiny model."""
        corpus = self._place(seed) / f"corpus-{row}"
        if (corpus / "models/bert/seed-0").exists():
            return corpus
        treebank = self._place(seed) / "treebank" / f"{self._language}-ud-train.conllu"
        once(treebank, lambda out: write_trees(self._draw(seed)[0], out))
        unlabelled: tuple[object, ...] = ()
        if row != OWN:
            unlabelled = ("--unlabelled", self._parsed(seed), "--unlabelled-license", LICENCE)
        conjoin(
            "ingest", "conllu", treebank.parent, "--license", LICENCE, *unlabelled, "--out", corpus
        )
        least = () if self._options.size == ALL else ("--min-words", LEAST_WORDS)
        conjoin("preparse", corpus, "--parser", "treebank", *least)
        conjoin("pretrain", corpus, "--lm", "bert", *TINY)
        return corpus

    @cache  # noqa: B019 - a study lives as long as its process
    def _draw(self, seed: int) -> tuple[list[DependencyTree], list[DependencyTree]]:
        """L, and U with what people annotated of it."""
        size = self._size
        order = list(range(len(self._train)))
        random.Random(f"{seed}/{size}").shuffle(order)
        rest = order[size : size + self._options.most]
        return [self._train[n] for n in sorted(order[:size])], [self._train[n] for n in rest]

    def _place(self, seed: int) -> Path:
        return self._work / f"seed-{seed}"


def counted(gold: DependencyTree, found: DependencyTree) -> list[int]:
    """What ``COUNTED`` names."""
    pairs = list(zip(gold.words, found.words, strict=True))
    heads = [one.head == two.head for one, two in pairs]
    right = [
        same and one.relation == two.relation for same, (one, two) in zip(heads, pairs, strict=True)
    ]
    counts = [len(pairs), sum(heads), sum(right)]
    content = {word.relation for pair in pairs for word in pair} - FUNCTIONAL
    for relations in (content, {"conj"}, {"cc"}):
        own = [one.relation in relations for one, _ in pairs]
        counts += [
            sum(own),
            sum(two.relation in relations for _, two in pairs),
            sum(ok for ok, is_one in zip(right, own, strict=True) if is_one),
        ]
    return counts


def _size(text: str) -> int | str:
    return text if text == ALL else int(text)


def _options(line: Sequence[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--treebank", type=Path, required=True, help="folder with *-ud-*.conllu*")
    parser.add_argument("--size", type=_size, default=250, help=f"sentences of L, or {ALL!r}")
    parser.add_argument("--seeds", type=int, nargs="+", required=True)
    parser.add_argument("--rows", nargs="+", default=USUAL_ROWS, choices=ROWS)
    parser.add_argument("--work", type=Path, default=Path("data/coordinated-study"))
    parser.add_argument("--most", type=int, default=4000, help="sentences of U")
    parser.add_argument("--references", type=int, default=4, help="of a source sentence, at most")
    parser.add_argument(
        "--match", choices=("label", "head", "features"), default="label", help="of fills"
    )
    parser.add_argument("--masked-lm", type=Path, help="the model that chooses fills, a folder")
    parser.add_argument(
        "--times", type=float, default=2.0, help="other sentences, times those of L"
    )
    parser.add_argument("--copies", type=int, default=2, help="of L beside them")
    parser.add_argument("--parser", choices=USUAL, default="stanza")
    parser.add_argument("--updates", type=int, help="of the parser; of UDPipe's iterations")
    parser.add_argument("--alone", type=int, help="the same of L alone")
    parser.add_argument("--tags", action="store_true", help="the parser reads UPOS")
    parser.add_argument("--split", choices=("dev", "test"), default="test", help="dev: for choices")
    found = parser.parse_args(line)
    usual = USUAL[found.parser]
    if RANKED in found.rows and found.masked_lm is None:
        parser.error(f"row {RANKED!r} needs --masked-lm")
    if found.size == ALL and not {ALONE, OWN}.issuperset(found.rows):
        parser.error(f"--size {ALL} leaves no sentence to read: its rows are {ALONE} and {OWN}")
    found.updates, found.alone = found.updates or usual, found.alone or usual
    return found


if __name__ == "__main__":
    given = _options()
    torch.set_num_threads(1)
    study = Study(given)
    for one in given.seeds:
        study.run(one)

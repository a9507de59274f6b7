"""Do artificial gapping and sentences that two parsers agree on help a dependency parser?

Parser A is stanza's ``depparse``, B is UDPipe, each with a tagger of its own (nltk's perceptron, UDPipe's);
both are trained here. What is enriched and measured is A, always with its last weights and, of a share of the
treebank, with the same number of updates, whatever it learns from:

- ``ellipsis``: the treebank; with artificial gapping (``conjoin gap``); with that and sentences of raw
  text in which both parsers, trained so, find the same orphans and agree on all else (``agree --orphans``).
- ``samplings``: a share of the treebank, and with sentences of raw text on which two parsers of that share
  agree: drawn like the treebank or at random (``agree --like``);
- ``agreement``: what the two parsers of a share agree on where the trees are known, EWT's dev part.

Needs ``pip install ufal.udpipe``. Raw text comes as paragraphs, a line each. A file that is there is not made
again. See README.md here; ``gapping_tables.py`` prints what came of it.
"""

import argparse
import random
import sys
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property, partial
from itertools import islice
from pathlib import Path
from typing import Any

import torch
from nltk.tokenize import NLTKWordTokenizer
from ufal import udpipe

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
from benchmarks.depparse import Depparse, conjoin, once, read, tagged, write_plain, write_trees
from pipeline.core.files import write_json, write_text
from pipeline.ellipsis.orphans.command import ORPHAN, by_sentence
from pipeline.parsing.tagging import Tagger, train_tagger
from pipeline.text.dependencies import DependencyTree
from pipeline.text.lines import open_lines
from pipeline.text.segmentation import learn_punkt

LEVELS = (5, 10, 15)
"""Sentences with orphans from raw text, in % of the treebank's sentences (the paper's Table 6)."""

COPIES = 4
"""How often each sentence of artificial gapping stands in what A and B learn from."""

SIZES = (20, 100, 200)
"""Sentences drawn like the treebank, in % of the share's (the paper's Table 4); controls have 100 at most."""

ENOUGH = 0.9
"""Of the sentences wanted; with fewer a draw would be another size's."""

CONTROLS = ("random-sentences", "random-tokens")

TAGGER_OF_B = (
    "models=1;templates_1=tagger;iterations=2;use_xpostag=0;use_feats=0;use_lemma=0;"
    "provide_xpostag=0;provide_feats=0;provide_lemma=0"
)
PARSER_OF_B = (
    "iterations=3;hidden_layer=64;use_gold_tags=1;batch_size=10;learning_rate=0.02;"
    "transition_system=projective;transition_oracle=static;structured_interval=0;single_root=1;"
    "embedding_upostag=20;embedding_feats=0;embedding_xpostag=0;embedding_form=50;embedding_lemma=0;"
    "embedding_deprel=20"
)

SHORTEST, LONGEST = 4, 40
"""Words of a raw sentence."""

LONGEST_AGREED = 14
"""The same for the samplings: of sentences on which the parsers agree nine in ten are no longer, and to parse
the others takes four times as long."""

_COORDINATORS = frozenset({"and", "or", "but", "&", ";"})


def main(options: argparse.Namespace) -> None:
    """Make one part of the study."""
    torch.set_num_threads(1)
    study = Study(options)
    if options.part == "choose":
        study.choose(options.seed, options.copies, options.updates)
    elif options.part == "ellipsis":
        study.ellipsis(options.seed)
    elif options.part == "samplings":
        study.samplings(options.share, options.seed)
    elif options.part == "agreement":
        study.agreement(options.share, options.seed)
    else:
        study.prepare()


class Study:
    """What is made, in the order it depends on; everything lies below ``work``."""

    def __init__(self, options: argparse.Namespace) -> None:
        self._options = options
        self._work: Path = options.work
        self._train, self._dev, self._test = (
            sorted(options.treebank.glob(f"*-ud-{part}.conllu*"))[0]
            for part in ("train", "dev", "test")
        )
        self._gapping = sorted(options.gapping.glob("orphan-basic.*.conllu"))

    def prepare(self) -> None:
        """What all seeds share: plain files, artificial gapping, raw text."""
        once(self._plain("train"), partial(_plain_of, self._train))
        once(self._plain("ewt-dev"), partial(_plain_of, self._dev))
        once(self._plain("ewt-test"), partial(_plain_of, self._test))
        for path in self._gapping:
            name = f"gapping-{path.name.split('.')[1]}"
            once(self._plain(name), partial(_plain_of, path))
        once(self._plain("gapped"), lambda out: write_plain(self._gapped(self._train), out))
        once(self._plain("dev-gapped"), lambda out: write_plain(self._gapped(self._dev), out))
        once(self._plain("artificial"), lambda out: self._write_artificial(COPIES, out))
        once(self._work / "raw.txt", self._write_raw)

    def _gapped(self, trees: Path) -> list[DependencyTree]:
        out = self._work / trees.name.split(".")[0]
        if not out.exists():
            conjoin("gap", trees, "--out", out)
        return read(out / "gapped.conllu")

    def _write_artificial(self, copies: int, out: Path) -> None:
        """The treebank, and each sentence of artificial gapping as often as is wanted."""
        write_plain([*read(self._plain("train")), *read(self._plain("gapped")) * copies], out)

    def _plain(self, name: str) -> Path:
        return self._work / "plain" / f"{name}.conllu"

    def _write_raw(self, out: Path) -> None:
        """Sentences of the raw text in random order, each once, words with spaces between them."""
        with open_lines(self._options.text) as lines:
            paragraphs = [line.strip() for _, line in lines if line.strip()]
        cut, words = learn_punkt(paragraphs), NLTKWordTokenizer()
        found: dict[str, None] = {}
        for paragraph in paragraphs:
            for sentence in cut(paragraph):
                tokens = [_QUOTES.get(each, each) for each in words.tokenize(sentence)]
                if SHORTEST <= len(tokens) <= LONGEST and tokens[-1] in (".", "!", "?"):
                    found[" ".join(tokens)] = None
        every = list(found)
        random.Random("raw").shuffle(every)
        write_text(out, "".join(f"{each}\n" for each in every))

    def choose(self, seed: int, copies: int, updates: int) -> None:
        """What decides on copies and updates: nothing that a table shows is looked at."""
        arm = self._work / "choose" / f"copies-{copies}-updates-{updates}"
        mixed = arm / f"seed-{seed}" / "train.conllu"
        once(mixed, lambda out: self._write_artificial(copies, out))
        dev = self._plain("ewt-dev"), self._plain("dev-gapped")
        self.measured(arm, mixed, seed, updates, on=dev)

    def ellipsis(self, seed: int) -> None:
        """The treebank, with artificial gapping, and with agreed orphans besides."""
        options, folder = self._options, self._work / "ellipsis"
        self.measured(folder / "treebank", self._plain("train"), seed, options.updates)
        self.measured(folder / "artificial", self._plain("artificial"), seed, options.updates)
        own = folder / "artificial" / f"seed-{seed}"
        a = ParserA(own, self._plain("artificial"), seed, options.updates)
        # B is the same for all seeds: it only proposes.
        shared = ParserB(folder / "parser-b", self._plain("artificial"))
        raw = self._sentences(options.raw_for_orphans, LONGEST)
        proposed = folder / "parser-b" / "proposed.conllu"
        once(proposed, lambda out: write_trees(
            shared.parse(s for s in raw if not _COORDINATORS.isdisjoint(s)), out,
            lambda tree: any(word.relation == ORPHAN for word in tree.words)))  # fmt: skip
        agreed = own / "agreed"
        if not agreed.exists():
            seen = own / "seen.conllu"
            once(seen, lambda out: write_trees(
                a.parse([tree.forms for tree in read(proposed)]), out))  # fmt: skip
            conjoin(
                "agree", seen, proposed, "--out", agreed, "--orphans", *self._apart(), may_fail=True
            )
        found = read(agreed / "agreed.conllu") if agreed.exists() else []
        random.Random(f"orphans/{seed}").shuffle(found)
        known = read(self._plain("artificial"))
        size = len(read(self._plain("train")))
        for level in LEVELS:
            wanted = size * level // 100
            arm = folder / f"agreed-{level}"
            if found and (len(found) >= wanted or level == LEVELS[0]):
                some = found[:wanted]
                mixed = arm / f"seed-{seed}" / "train.conllu"
                once(mixed, partial(write_plain, [*known, *some]))
                self.measured(arm, mixed, seed, options.updates, agreed=len(some))

    def samplings(self, share: int, seed: int) -> None:
        """A share of the treebank, and with agreed sentences drawn in several ways."""
        options, folder = self._options, self._work / f"samplings-{share}"
        own = folder / "treebank" / f"seed-{seed}" / "train.conllu"
        updates = options.updates if share == 100 else options.updates_of_shares

        def write_share(out: Path) -> None:
            trees = read(self._plain("train"))
            drawn = random.Random(f"{seed}/{share}").sample(
                range(len(trees)), len(trees) * share // 100
            )
            write_plain([trees[number] for number in sorted(drawn)], out)

        once(own, write_share)
        self.measured(folder / "treebank", own, seed, updates)
        a, b = ParserA(own.parent, own, seed, updates), ParserB(own.parent, own)
        sentences = list(self._sentences(options.raw_for_samplings, LONGEST_AGREED))
        once(own.parent / "raw-a.conllu", lambda out: write_trees(a.parse(sentences), out))
        once(own.parent / "raw-b.conllu", lambda out: write_trees(b.parse(sentences), out))
        most = SIZES[0]
        for sample in ("identical", *CONTROLS):
            for size in SIZES if sample == "identical" else [most]:
                arm = folder / f"{sample}-{size}"
                enough = self._sampled(
                    arm, own, sample=sample, size=size, seed=seed, updates=updates
                )
                most = size if enough and size <= 100 else most

    def agreement(self, share: int, seed: int) -> None:
        """Print how right A is on sentences of the samplings' length, and on those where B agrees."""
        options = self._options
        own = self._work / f"samplings-{share}" / "treebank" / f"seed-{seed}"
        trees = own / "train.conllu"
        short = range(SHORTEST, LONGEST_AGREED + 1)
        gold = [t for t in read(self._plain("ewt-dev")) if len(t.words) in short]
        # Both are there since ``samplings``.
        a = list(ParserA(own, trees, seed, options.updates).parse([tree.forms for tree in gold]))
        b = list(ParserB(own, trees).parse([tree.forms for tree in gold]))
        every = range(len(gold))
        same = [n for n in every if (_tagged(a[n]), _arcs(a[n])) == (_tagged(b[n]), _arcs(b[n]))]
        for name, some in ("all", every), ("agreed", same):
            arcs = [(x, y) for n in some for x, y in zip(_arcs(a[n]), _arcs(gold[n]), strict=True)]
            las = sum(x == y for x, y in arcs) / len(arcs)
            right = sum(_arcs(a[n]) == _arcs(gold[n]) for n in some) / len(some)
            print(
                f"{share} % of the treebank, {name}: {len(some)} sentences "
                f"of {len(arcs) / len(some):.1f} words, LAS {las:.1%}, {right:.0%} of them all right",
                flush=True,
            )

    def _sampled(
        self, arm: Path, own: Path, *, sample: str, size: int, seed: int, updates: int
    ) -> bool:
        """The share with agreed sentences of one draw; whether there are as many as are wanted."""
        drawn = arm / f"seed-{seed}" / "agreed"
        if not drawn.exists():
            conjoin(
                "agree", own.parent / "raw-a.conllu", own.parent / "raw-b.conllu", "--out", drawn,
                "--like", own, "--size", f"{size}%", "--sample", sample, "--seed", seed,
                *self._apart(),
            )  # fmt: skip
        more = read(drawn / "agreed.conllu")
        wanted = len(read(own)) * size // 100
        if sample == "identical" and len(more) < ENOUGH * wanted:
            print(
                f"{arm}: {len(more)} of {wanted} sentences: the parsers agree on too few",
                flush=True,
            )
            return False
        mixed = arm / f"seed-{seed}" / "train.conllu"
        once(mixed, lambda out: write_plain([*read(own), *more], out))
        self.measured(arm, mixed, seed, updates, agreed=len(more))
        return True

    def measured(
        self,
        arm: Path,
        trees: Path,
        seed: int,
        updates: int,
        *,
        on: Sequence[Path] = (),
        **added: int,
    ) -> None:
        """Train A on some trees and write what it gets right, sentence by sentence."""

        def measure(out: Path) -> None:
            a = ParserA(out.parent, trees, seed, updates)
            counts = {}
            for gold in on or self._measured_on:
                right = read(gold)
                found = by_sentence(right, list(a.parse([tree.forms for tree in right])))
                counts[gold.stem] = None if found is None else found.tolist()
            sizes = {"sentences": len(read(trees)), "words": sum(len(t.words) for t in read(trees))}
            write_json(out, {"seed": seed, "updates": updates, **sizes, **added, "counts": counts})

        once(arm / f"seed-{seed}" / "measured.json", measure)

    def _sentences(self, most: int, longest: int) -> Iterator[tuple[str, ...]]:
        with open_lines(self._work / "raw.txt") as lines:
            every = (tuple(line.split()) for _, line in lines)
            yield from islice((words for words in every if len(words) <= longest), most)

    def _apart(self) -> Iterator[object]:
        """Sentences that nothing measured here may be trained on."""
        for path in self._measured_on:
            yield from ("--apart", path)

    @property
    def _measured_on(self) -> list[Path]:
        """What the tables show: EWT's test part and the gapping sentences."""
        return [
            self._plain("ewt-test"),
            *sorted(self._plain("x").parent.glob("gapping-*.conllu")),
        ]


_QUOTES = {"``": '"', "''": '"'}  # as EWT writes them


def _plain_of(path: Path, out: Path) -> None:
    """Write a treebank's trees as ``write_plain`` does."""
    write_plain(read(path), out)


class ParserA:
    """Stanza's dependency parser, on the tags of a perceptron; trained if it is not there."""

    def __init__(self, folder: Path, trees: Path, seed: int, updates: int) -> None:
        self._folder, self._trees, self._seed, self._updates = folder, trees, seed, updates

    @cached_property
    def _tagger(self) -> Tagger:
        path = self._folder / "tagger-a.json"
        once(path, lambda out: train_tagger(out, map(_tagged, read(self._trees)), self._seed))
        return Tagger(path)

    def parse(self, sentences: Iterable[Sequence[str]]) -> Iterator[DependencyTree]:
        """Trees of sentences, in their order."""
        parser = Depparse(
            self._folder / "parser-a.pt", self._trees, self._seed, self._updates, "en_ewt"
        )
        return parser.parse([tagged(words, self._tagger.tag(words)) for words in sentences])


class ParserB:
    """UDPipe's tagger and parser; trained if they are not there."""

    def __init__(self, folder: Path, trees: Path) -> None:
        self._folder, self._trees = folder, trees

    @cached_property
    def _model(self) -> Any:
        path = self._folder / "parser-b.udpipe"
        once(path, self._train)
        return udpipe.Model.load(str(path))

    def _train(self, out: Path) -> None:
        error, kept = udpipe.ProcessingError(), udpipe.Sentences()
        for sentence in _of_udpipe(self._trees.read_text("utf-8")):
            kept.append(sentence)
        model = udpipe.Trainer.train(
            "morphodita_parsito", kept, udpipe.Sentences(), "none", TAGGER_OF_B, PARSER_OF_B, error
        )
        if error.occurred():
            raise SystemExit(f"UDPipe: {error.message}")
        out.write_bytes(model)

    def parse(self, sentences: Iterable[Sequence[str]]) -> Iterator[DependencyTree]:
        """Trees of sentences, in their order."""
        output = udpipe.OutputFormat.newOutputFormat("conllu")
        with tempfile.TemporaryDirectory() as place:
            path = Path(place, "parsed.conllu")
            with path.open("w", encoding="utf-8") as file:
                for words in sentences:
                    sentence = udpipe.Sentence()
                    for word in words:
                        sentence.addWord(word)
                    self._model.tag(sentence, "")
                    self._model.parse(sentence, "")
                    file.write(output.writeSentence(sentence))
            yield from read(path)


def _of_udpipe(text: str) -> Iterator[Any]:
    reader, error = udpipe.InputFormat.newConlluInputFormat(), udpipe.ProcessingError()
    reader.setText(text)
    sentence = udpipe.Sentence()
    while reader.nextSentence(sentence, error):
        yield sentence
        sentence = udpipe.Sentence()
    if error.occurred():
        raise SystemExit(f"UDPipe: {error.message}")


def _tagged(tree: DependencyTree) -> tuple[list[str], list[str]]:
    return [word.form for word in tree.words], [word.upos for word in tree.words]


def _arcs(tree: DependencyTree) -> list[tuple[int, str]]:
    return [(word.head, word.relation) for word in tree.words]


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("part", choices=("prepare", "choose", "ellipsis", "samplings", "agreement"))
    parser.add_argument("--work", type=Path, default=Path("data/gapping-study"))
    parser.add_argument(
        "--treebank", type=Path, required=True, help="folder with *-ud-train.conllu*"
    )
    parser.add_argument(
        "--gapping", type=Path, required=True, help="folder with orphan-basic.*.conllu"
    )
    parser.add_argument("--text", type=Path, required=True, help="raw text, a paragraph a line")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--share", type=int, default=100, help="samplings, agreement: %% of the treebank"
    )
    parser.add_argument("--copies", type=int, default=COPIES, help="choose: of artificial gapping")
    parser.add_argument("--updates", type=int, default=600, help="of A, of the whole treebank")
    parser.add_argument("--updates-of-shares", type=int, default=200, help="of A, of a share")
    parser.add_argument("--raw-for-orphans", type=int, default=200_000, help="sentences")
    parser.add_argument("--raw-for-samplings", type=int, default=40_000, help="sentences")
    return parser.parse_args()


if __name__ == "__main__":
    main(_options())

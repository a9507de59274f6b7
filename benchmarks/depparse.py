"""Dependency parsers of stanza, UDPipe and spaCy as studies train them, and the files that they make once."""
# ruff: noqa: PLC0415 - UDPipe and spaCy are not installed with conjoin

import random
import resource
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import chain, count, islice
from pathlib import Path
from typing import Any

from stanza.models import parser as depparse

from pipeline.core.files import write_json
from pipeline.text.dependencies import ABSENT, DependencyTree, TreebankWord, read_trees
from pipeline.text.lines import open_lines

SMALL = (
    "--cpu --no_checkpoint --no_pretrain --no_char --no_xpos --no_ufeats --word_emb_dim 100 --hidden_dim 128 "
    "--num_layers 2 --deep_biaff_hidden_dim 64 --deep_biaff_output_dim 50 --dropout 0.2 --word_dropout 0.15 "
    "--optim adam --lr 0.003 --batch_size 1000"
)
"""A small parser that learns quickly, chosen on EWT's dev part: no pretrained vectors can be had here, and a
layer of characters would double its time."""


class Depparse:
    """Stanza's parser of some trees; trained if it is not there, its last weights kept.

    Args:
        path: its file.
        trees: what it learns from, in CoNLL-U.
        seed: of its weights and batches.
        updates: batches of 1,000 words.
        language: as stanza's treebanks are called, ``en_ewt``.
        tags: whether it reads UPOS.
    """

    def __init__(
        self, path: Path, trees: Path, seed: int, updates: int, language: str, *, tags: bool = True
    ) -> None:
        self._path, self._trees, self._seed, self._updates = path, trees, seed, updates
        names = ["--lang", language.partition("_")[0], "--shorthand", language]
        self._settings = [*names, *SMALL.split(), *([] if tags else ["--no_upos"])]

    def train(self) -> None:
        """Make its file, unless it is there."""

        def make(out: Path) -> None:
            first = out.parent / "first.conllu"  # must be given, and is not looked at
            write_plain(read(self._trees)[:50], first)
            depparse.main([
                "--mode", "train", *self._settings, "--seed", str(self._seed),
                "--train_file", str(self._trees), "--eval_file", str(first),
                # No choice by dev: the last weights are kept.
                "--max_steps", str(self._updates), "--eval_interval", str(2 * self._updates),
                "--save_dir", str(out.parent), "--save_name", out.name,
            ])  # fmt: skip

        once(self._path, make)

    def parse(self, sentences: Sequence[DependencyTree]) -> Iterator[DependencyTree]:
        """Trees of sentences of which words, and tags if it reads any, are known."""
        self.train()
        for start in range(0, len(sentences), 10_000):
            yield from self._parsed(sentences[start : start + 10_000])

    def _parsed(self, sentences: Sequence[DependencyTree]) -> list[DependencyTree]:
        with tempfile.TemporaryDirectory() as place:
            asked, answered = Path(place, "asked.conllu"), Path(place, "answered.conllu")
            write_plain(map(untied, sentences), asked)
            depparse.main([
                "--mode", "predict", *self._settings, "--no_gold_labels", "--eval_file", str(asked),
                "--output_file", str(answered), "--save_dir", str(self._path.parent),
                "--save_name", self._path.name,
            ])  # fmt: skip
            return read(answered)


class UdPipe:
    """UDPipe 1's parser of some trees (``pip install ufal.udpipe``), which reads words and UPOS.

    Args:
        path: its file.
        trees: what it learns from, in CoNLL-U.
        iterations: over them.
    """

    def __init__(self, path: Path, trees: Path, iterations: int) -> None:
        self._path, self._trees, self._iterations = path, trees, iterations

    def train(self) -> None:
        """Make its file, unless it is there; the same trees make the same parser."""
        from ufal.udpipe import ProcessingError, Sentences, Trainer

        def make(out: Path) -> None:
            settings = f"iterations={self._iterations};structured_interval=0;use_gold_tags=1;run=1"
            fault, none = ProcessingError(), Trainer.NONE
            model = Trainer.train(
                "morphodita_parsito", self._sentences(self._trees.read_text()), Sentences(), none, none,
                settings, fault,
            )  # fmt: skip
            if fault.occurred():
                raise SystemExit(fault.message)
            out.write_bytes(model)

        once(self._path, make)

    def parse(self, sentences: Sequence[DependencyTree]) -> list[DependencyTree]:
        """Trees of sentences of which words and tags are known."""
        from ufal.udpipe import Model, OutputFormat, ProcessingError

        self.train()
        model, fault = Model.load(str(self._path)), ProcessingError()
        writer = OutputFormat.newOutputFormat("conllu")
        with tempfile.TemporaryDirectory() as place:
            asked, answered = Path(place, "asked.conllu"), Path(place, "answered.conllu")
            write_plain(map(untied, sentences), asked)
            with answered.open("w", encoding="utf-8") as file:
                for each in self._sentences(asked.read_text()):
                    model.parse(each, Model.DEFAULT, fault)
                    file.write(writer.writeSentence(each))
            if fault.occurred():
                raise SystemExit(fault.message)
            return read(answered)

    def _sentences(self, text: str) -> Any:
        """Sentences as UDPipe has them."""
        from ufal.udpipe import InputFormat, ProcessingError, Sentence, Sentences

        found, reader, fault = Sentences(), InputFormat.newConlluInputFormat(), ProcessingError()
        reader.setText(text)
        while reader.nextSentence(each := Sentence(), fault):
            found.push_back(each)
        if fault.occurred():
            raise SystemExit(fault.message)
        return found


class SpacyParser:
    """spaCy's parser of some trees, by spaCy's own settings; it reads words alone.

    Args:
        path: its file.
        trees: what it learns from, in CoNLL-U.
        seed: of its weights and batches.
        updates: batches of 16 sentences.
        language: as stanza's treebanks are called, ``en_ewt``.
    """

    def __init__(self, path: Path, trees: Path, seed: int, updates: int, language: str) -> None:
        self._path, self._trees, self._seed, self._updates = path, trees, seed, updates
        self._language = language.partition("_")[0]

    def train(self) -> None:
        """Make its file, unless it is there."""
        from spacy.training import Example
        from spacy.util import minibatch
        from thinc.api import fix_random_seed

        def make(out: Path) -> None:
            fix_random_seed(self._seed)
            nlp = self._untrained()
            examples = [
                Example(_whole(nlp, tree), _annotated(nlp, tree)) for tree in read(self._trees)
            ]
            optimizer, order = nlp.initialize(lambda: examples), random.Random(self._seed)
            passes = (order.sample(examples, len(examples)) for _ in count())
            batches = minibatch(chain.from_iterable(passes), 16)  # type: ignore[no-untyped-call]
            for batch in islice(batches, self._updates):
                nlp.update(batch, sgd=optimizer, drop=0.2)
            out.write_bytes(nlp.to_bytes())

        once(self._path, make)

    def parse(self, sentences: Sequence[DependencyTree]) -> Iterator[DependencyTree]:
        """Trees of sentences of which the words are known."""
        self.train()
        nlp = self._untrained().from_bytes(self._path.read_bytes())
        docs = nlp.pipe(_whole(nlp, tree) for tree in sentences)
        for tree, doc in zip(sentences, docs, strict=True):
            (root,) = (word.i for word in doc if word.head.i == word.i)
            yield replace(tree, words=tuple(
                replace(word, head=0 if found.i == root else found.head.i + 1,
                        deprel="root" if found.i == root else found.dep_)
                for word, found in zip(tree.words, doc, strict=True)
            ))  # fmt: skip

    def _untrained(self) -> Any:
        import spacy

        nlp = spacy.blank(self._language)
        # Of few trees every relation is rare: with spaCy's 30 most would not be learned.
        nlp.add_pipe("parser", config={"min_action_freq": 1})
        return nlp


def _whole(nlp: Any, tree: DependencyTree) -> Any:
    """A tree's words as spaCy's document, one sentence whatever its parser would have."""
    from spacy.tokens import Doc

    starts: list[bool | int | None] = [number == 0 for number in range(len(tree.words))]
    return Doc(nlp.vocab, words=[word.form for word in tree.words], sent_starts=starts)


def _annotated(nlp: Any, tree: DependencyTree) -> Any:
    """The same with heads and relations; a root is its own head."""
    from spacy.tokens import Doc

    heads = [word.head - 1 if word.head else number for number, word in enumerate(tree.words)]
    relations = [word.deprel if word.head else "ROOT" for word in tree.words]
    return Doc(nlp.vocab, words=[w.form for w in tree.words], heads=heads, deps=relations)


def tagged(words: Sequence[str], tags: Sequence[str]) -> DependencyTree:
    """Words with their tags, and a tree that nobody looks at."""
    return untied(DependencyTree(tuple(
        TreebankWord(n, form, ABSENT, tag, ABSENT, ABSENT, 0, "dep", ABSENT, ABSENT)
        for n, (form, tag) in enumerate(zip(words, tags, strict=True), 1)
    )))  # fmt: skip


def untied(tree: DependencyTree) -> DependencyTree:
    """The words of a tree, and another one that nobody looks at."""
    return replace(tree, words=tuple(
        replace(word, head=word.number - 1, deprel="dep" if word.number > 1 else "root")
        for word in tree.words
    ))  # fmt: skip


def read(path: Path) -> list[DependencyTree]:
    """The trees of a file."""
    with open_lines(path) as lines:
        return list(read_trees(lines))


def write_plain(trees: Iterable[DependencyTree], out: Path) -> None:
    """Write words, tags and basic trees, and nothing else.

    The word in lower case stands as lemma: stanza reads lemmas, and nothing here makes them.
    """
    bare = (
        replace(tree, tokens=(), empty=(), comments=(), words=tuple(
            replace(w, lemma=w.form.lower(), xpos=ABSENT, feats=ABSENT, deps=ABSENT, misc=ABSENT)
            for w in tree.words
        ))
        for tree in trees
    )  # fmt: skip
    write_trees(bare, out)


def write_trees(
    trees: Iterable[DependencyTree],
    out: Path,
    keep: Callable[[DependencyTree], bool] = lambda _: True,
) -> None:
    """Write those that are to be kept."""
    with out.open("w", encoding="utf-8") as file:
        for tree in trees:
            if keep(tree):
                file.write("\n".join(tree.rows) + "\n\n")


def once(path: Path, make: Callable[[Path], object]) -> None:
    """Make a file, unless it is there, and write down what processor time that took."""
    if path.exists():
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    # Files are made one within the other: what the inner ones took is not the outer one's.
    before, inner = cpu_s(), sum(_SPENT.values())
    make(path.with_name(f"~{path.name}"))
    path.with_name(f"~{path.name}").rename(path)
    _SPENT[path] = cpu_s() - before - (sum(_SPENT.values()) - inner)
    write_json(path.with_name(f"{path.name}.cpu.json"), {"cpu_s": round(_SPENT[path], 1)})
    print(f"{path}: {_SPENT[path]:.0f} CPU s", flush=True)


_SPENT: dict[Path, float] = {}


def cpu_s() -> float:
    """Processor time of this process and of those that it started."""
    spent = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in spent)


def conjoin(*command: object, may_fail: bool = False) -> None:
    """Call one of conjoin's commands."""
    line = [sys.executable, "-m", "pipeline", *map(str, command)]
    print("+ conjoin", *line[3:], flush=True)
    if subprocess.run(line, check=False).returncode and not may_fail:  # noqa: S603 - our own command
        raise SystemExit("that command failed")

"""Does a constituency parser learn coordination from the candidates that are exported?

Stanza's parser is trained on the trees of L alone (arm ``gold``), and on the same with trees of candidates
that were made without any annotation but L's: the parser of arm ``gold`` parses U, finds the coordinations
that are harvested, and parses what a language model wrote. All arms of a size and seed have the same
settings, word vectors (the corpus's language model, as it is, from raw text), dev trees (the draw's
validation sentences) and number of updates; half of what an arm with candidates sees is L. With ``--equal``
all have as many candidates as the smallest has. ``--teacher ARM`` makes the candidates with that arm's
parser: a second round. ``--teacher treebank`` takes the gold trees of U instead: a control, for what the
parser's mistakes cost.

Every command is a unit that is not done again. See README.md here; ``units`` lists all commands in
order, ``parser_tables.py`` prints what came of them.
"""

import argparse
import resource
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import torch
from nltk.tree import Tree

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
from benchmarks.parsers.parser_results import (
    ALONE,
    TREEBANK,
    TREES,
    Result,
    Unit,
    held_out,
    read_kept,
    structure_row,
    unit_name,
)
from pipeline.core.claims import atomic_folder
from pipeline.core.corpus_folder import (
    DRAWS_FOLDER,
    INGEST_RECORD,
    SENTENCES_FILE,
    TEXT_FILE,
)
from pipeline.core.documents import read_json
from pipeline.core.draws import read_draw
from pipeline.core.files import folder_lock, write_json
from pipeline.core.types import Sentence
from pipeline.models.loading import locate_lm
from pipeline.parsing.encoders import words_encoder
from pipeline.parsing.measures import read_coordinations
from pipeline.parsing.parser import load_parser
from pipeline.parsing.tagging import TAGGER, train_tagger
from pipeline.parsing.taught import mixed
from pipeline.parsing.training import BATCH, MODEL, bracket_counts, train_parser, training_tree
from pipeline.text.trees import leaves, parse_tree

LM = "bert"
SOURCES: dict[str, tuple[str, ...]] = {
    "attested": ("generate", "--lm", LM, "--sync", "--fills", "attested"),
    "unranked": ("generate", "--lm", LM, "--sync", "--fills", "attested", "--pool", "1"),
    "free": ("generate", "--lm", LM, "--sync"),
    "harvest": ("harvest", "--parser", "corpus"),
}
"""Where candidates are from, and the command of conjoin that makes them."""

_BATCH = 64  # test sentences parsed at once


def main(options: argparse.Namespace) -> None:
    """Do what the command says, unless it was done."""
    torch.set_num_threads(1)
    if options.command == "units":
        units(options)
        return
    unit = Unit(
        options.work, options.corpus, options.gold, options.seed, options.arm, options.teacher,
        options.equal, options.command == "candidates",
    )  # fmt: skip
    {"candidates": candidates, "train": train}[options.command](unit, options)


def once(unit: Unit, settings: dict[str, Any], make: Callable[[], dict[str, Any]]) -> None:
    """Write a unit's result, unless it is there.

    Raises:
        SystemExit: it is there, and was made with other settings.
    """
    path = unit.result
    if path.exists():
        known = read_json(path, Result)["settings"]
        if known != settings:
            raise SystemExit(f"{path}: made with other settings, {known}; name another --work")
        print(f"{path}: finished")
        return
    with folder_lock(unit.locks):
        began, before = time.time(), cpu_s()
        made = make()
        spent = {"cpu_s": round(cpu_s() - before, 1), "wall_s": round(time.time() - began, 1)}
        write_json(path, unit.facts() | spent | {"settings": settings} | made)
    print(f"{path}: written, {spent['cpu_s']:.0f} CPU s")


def cpu_s() -> float:
    """Processor time of this process and of those that it started."""
    spent = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in spent)


def candidates(unit: Unit, options: argparse.Namespace) -> None:
    """Make and export the candidates of one source, or parse U, with the parser of the teacher."""
    del options
    corpus, of_treebank = unit.copy, unit.teacher == TREEBANK

    def make() -> dict[str, Any]:
        if not corpus.exists():
            _copy(unit.corpus, corpus)
        if unit.arm == TREES:
            parser = unit.parser_of(unit.teacher).resolve() / MODEL
            conjoin("preparse", corpus, "--parser", TREEBANK if of_treebank else parser)
            return {}
        made = corpus / "candidates" / unit.arm
        command, *flags = SOURCES[unit.arm]
        flags += ["--labelled", str(unit.gold)] if command == "harvest" else []
        conjoin(command, corpus, *flags, "--seed", unit.seed, "--out", made)
        conjoin(
            "export",
            made,
            "--format",
            "ptb",
            "--trees-of",
            "treebank" if of_treebank else "parser",
            "--own-use",
            "--overwrite",
            "--out",
            unit.trees(unit.arm),
        )
        return {"candidates": len(unit.trees(unit.arm).read_text("utf-8").splitlines())}

    once(unit, {"lm": LM}, make)


def _copy(corpus: Path, copy: Path) -> None:
    """What ``ingest`` wrote, and the language models; no trees, so that none of another parser is taken."""
    with atomic_folder(copy) as folder:
        for name in (SENTENCES_FILE, TEXT_FILE, INGEST_RECORD):
            shutil.copy2(corpus / name, folder / name)
        shutil.copytree(corpus / DRAWS_FOLDER, folder / DRAWS_FOLDER)
        shutil.copytree(corpus / "models" / LM, folder / "models" / LM)


def conjoin(*command: object) -> None:
    """Run a command of conjoin.

    Raises:
        SystemExit: it failed.
    """
    line = [sys.executable, "-m", "pipeline", *map(str, command)]
    print("+ conjoin", *line[3:], flush=True)
    if subprocess.run(line, check=False).returncode:  # noqa: S603 - our own command
        raise SystemExit("that command failed: mend what it says and call this unit again")


def train(unit: Unit, options: argparse.Namespace) -> None:
    """Train the parser of an arm, parse the test sentences, and write what it found."""
    settings = {name: getattr(options, name) for name in ("hidden", "updates", "epochs")}
    once(unit, settings | {"lm": LM}, lambda: _trained(unit, **settings))


def _trained(unit: Unit, hidden: int, updates: int, epochs: int) -> dict[str, Any]:
    began = time.process_time()
    drawn, validation = (
        [sentence for sentence in part if sentence.tree is not None]
        for part in read_draw(unit.corpus, unit.seed, str(unit.gold))
    )
    gold, dev = ([gold_tree(sentence) for sentence in part] for part in (drawn, validation))
    more = exported(unit)
    parser = unit.parser_of(unit.name)
    best = train_parser(
        parser, mixed(gold, more), dev, epochs=epochs, hidden=hidden, tagged=False,
        seed=unit.seed, encoder=words_encoder(locate_lm(LM, None, unit.corpus, unit.seed)),
        per_epoch=updates * BATCH // epochs,
    )  # fmt: skip
    # Writes the tags of its trees, for it reads none itself.
    train_tagger(parser / TAGGER, ((s.words, s.tags) for s in drawn), unit.seed)
    trained = time.process_time()
    test = held_out(unit.corpus)
    trees = _parsed(parser, test)
    return {
        "trees": {"gold": len(gold), "dev": len(dev), "candidates": len(more)},
        "best_epoch": best,
        "training_cpu_s": round(trained - began, 1),
        "parsing_cpu_s": round(time.process_time() - trained, 1),
        **found_in(trees, test),
    }


def found_in(trees: Sequence[Tree | None], test: Sequence[Sentence]) -> dict[str, Any]:
    """What a parser's trees of the test sentences have, as a result says it."""
    counts = (
        bracket_counts([parse_tree(s.tree or "")], [tree])
        for s, tree in zip(test, trees, strict=True)
    )
    return {
        "brackets": [[each.right, each.found, each.wanted] for each in counts],
        "found": [[structure_row(c) for c in read_coordinations(tree)] for tree in trees],
    }


def gold_tree(sentence: Sentence) -> str:
    """A sentence's tree as a parser without tags learns it."""
    return training_tree(parse_tree(sentence.tree or ""), sentence.words, None)


def exported(unit: Unit) -> list[str]:
    """The trees of an arm's candidates, without tags, which the parser is not to read."""
    if unit.arm == ALONE:
        return []
    every = {name: _lines(unit.trees(name)) for name in unit.arm.split("+")}
    if unit.equal:
        first = replace(unit, teacher=ALONE)
        least = min(len(_lines(first.trees(name))) for name in SOURCES)
        joined = [line for lines in every.values() for line in lines]
        drawn = Random(f"equal/{unit.seed}").sample(joined, least)
    else:
        drawn = [line for lines in every.values() for line in lines]
    return untagged(drawn)


def untagged(lines: Sequence[str]) -> list[str]:
    """Exported trees as a parser without tags learns them."""
    return [training_tree(tree, leaves(tree), None) for tree in map(parse_tree, lines)]


def _lines(path: Path) -> list[str]:
    return path.read_text("utf-8").splitlines()


def _parsed(parser: Path, sentences: Sequence[Sentence]) -> list[Tree | None]:
    loaded, trees = load_parser(str(parser / MODEL)), list[Tree | None]()
    for start in range(0, len(sentences), _BATCH):
        trees += loaded.parse([s.words for s in sentences[start : start + _BATCH]])
    return trees


def units(options: argparse.Namespace) -> None:
    """Print the command of every unit whose result is not kept, those that others need first, kept or not.

    With ``--again`` of every unit. All sources have an arm with as many candidates as the fewest of the
    first round have; those of ``--whole`` one with all of theirs, too.
    """
    kept = set() if options.again else {unit_name(each) for each in read_kept()}

    def is_wanted(arm: str, seed: int, *, equal: bool) -> bool:
        about = options.work, options.corpus, options.gold, seed, arm, options.teacher, equal
        return Unit(*about).result.stem not in kept

    for seed in options.seeds:
        begin = "python benchmarks/parsers/parser_study.py"
        end = f"--work {options.work} --corpus {options.corpus} --gold {options.gold} --seed {seed}"
        teach = "" if options.teacher == ALONE else f" --teacher {options.teacher}"
        arms = [(arm, False) for arm in options.whole] + [(arm, True) for arm in options.equal_arms]
        wanted = [(arm, equal) for arm, equal in arms if is_wanted(arm, seed, equal=equal)]
        arms_of = {arm for arm, _ in wanted}
        # Of the first round: what is learned from, what the teacher learned from, or, of equal arms,
        # all, of which the fewest are counted.
        first = [
            source
            for source in SOURCES
            if any(equal for _, equal in wanted)
            or (source == options.teacher and wanted)
            or (source in arms_of and not teach)
        ]
        # Who parses U is its parser, so it is trained again where that was lost.
        if first or (not teach and is_wanted(ALONE, seed, equal=False)):
            print(f"{begin} train --arm {ALONE} {end}")
        for source in (TREES, *first) if first else ():
            print(f"{begin} candidates --arm {source} {end}")
        if teach and wanted:
            if options.teacher != TREEBANK:
                print(f"{begin} train --arm {options.teacher} {end}")
            for source in (TREES, *(source for source in SOURCES if source in arms_of)):
                print(f"{begin} candidates --arm {source} {end}{teach}")
        for arm, equal in wanted:
            print(f"{begin} train --arm {arm} {end}{teach}{' --equal' * equal}")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    kinds = parser.add_subparsers(dest="command", required=True)
    for name, what in (
        ("candidates", "make and export candidates of one source"),
        ("train", "train and measure one parser"),
        ("units", "print the commands of all units"),
    ):
        command = kinds.add_parser(name, help=what)
        command.add_argument("--work", type=Path, default=Path("data/parser-study"))
        command.add_argument(
            "--corpus", type=Path, required=True, help="with models/bert and draws"
        )
        command.add_argument("--gold", type=int, required=True, help="|L|: a draw's number")
        command.add_argument(
            "--teacher", default=ALONE, help="whose parser makes the candidates; or treebank"
        )
        command.set_defaults(equal=False)
        if name == "units":
            command.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
            command.add_argument(
                "--again", action="store_true", help="also units whose results are kept"
            )
            arms: dict[str, Any] = {"nargs": "*", "choices": tuple(SOURCES)}
            command.add_argument("--whole", **arms, default=[], help="with all candidates")
            command.add_argument(
                "--equal-arms", **arms, default=list(SOURCES), help="as many of each"
            )
            continue
        command.add_argument("--seed", type=int, required=True)
        if name == "candidates":
            command.add_argument("--arm", choices=(TREES, *SOURCES), required=True)
        else:
            command.add_argument(
                "--arm", required=True, help="gold, a source, or several: attested+harvest"
            )
            command.add_argument(
                "--equal", action="store_true", help="as many candidates as the fewest"
            )
            command.add_argument("--hidden", type=int, default=128)
            command.add_argument("--updates", type=int, default=720, help=f"batches of {BATCH}")
            command.add_argument("--epochs", type=int, default=6, help="choices of the best by dev")
    return parser.parse_args()


if __name__ == "__main__":
    main(_options())

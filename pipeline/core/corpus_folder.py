"""What lies in a corpus folder: names that stages share, whether ``ingest`` finished, and the trees.

``ingest.json`` is the record of what ``ingest`` wrote (``core/fingerprint.py``): it is removed before those
files change and written after them. Who reads one of them calls ``require_ingested`` first.
"""

import hashlib
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice, pairwise, starmap
from pathlib import Path
from typing import Any

from pipeline.core.annotation import Annotation, recorded
from pipeline.core.cards.ingest import IngestCard
from pipeline.core.cards.trees import TreesManifest
from pipeline.core.corpora import COORDINATION
from pipeline.core.documents import read_json
from pipeline.core.errors import InputError, SettingsError
from pipeline.core.files import json_text, sha256_of
from pipeline.core.fingerprint import Fingerprint, Output
from pipeline.core.names import nearest
from pipeline.core.parquet import MANIFEST, read_rows
from pipeline.core.schema import TREES, coordinators_in, read_sentences
from pipeline.core.types import USUAL_COORDINATORS, Sentence, SourceSentence

SENTENCES_FILE = "sentences.parquet"
"""The sentences of all splits, as ``ingest`` read them: the file by which a corpus folder is known."""

RELATIONS_FILE = "relations.parquet"
"""The argument pairs of a corpus of relations, which has no sentences."""

ARGUMENTS_FILE = "arguments.parquet"
"""Where ``ingest`` writes predicates with their arguments, beside the sentences."""

DEPENDENCIES_FILE = "dependencies.parquet"
"""The dependency trees of a corpus that was read from CoNLL-U, beside the sentences."""

QUESTIONS_FILE = "questions.parquet"
"""The questions with choices of a corpus of questions."""

TEXT_FILE = "text.txt"
"""The raw text that language models may learn from, a sentence a line."""

DRAWS_FOLDER = "draws"
"""Folders that only ``ingest`` makes: the draws of L, and what stands for inputs that are not read."""

INGEST_RECORD = "ingest.json"
"""The counts of a corpus, and the record of its files."""

TREES_FOLDER = "trees"
"""Folder of trees that ``preparse`` writes and ``generate`` reads."""

COORDINATED_FOLDER = "coordinated"
"""Folder with trees of sentences that hold a coordinator: ``pretrain`` reads it."""

PARSERS_FOLDER = "parsers"
"""Folder of the parsers that have a name, and of those that ``harvest`` trains on trees of L."""


def tree_set(name: str, labelled: str, seed: int) -> str:
    """What trees with a name, and their parser, are called in a corpus: ``l-trees/250/seed-0``.

    Args:
        name: of `preparse --name`.
        labelled: size of the draw of L that they go with, or ``full``.
        seed: of the draw.
    """
    return f"{name}/{labelled}/seed-{seed}"


def trees_folder(corpus: Path, named: str | None = None) -> Path:
    """The folder of the trees of U: those of a ``tree_set``, or the ones without a name."""
    folder = corpus / TREES_FOLDER
    return folder / named if named else folder


def parser_folder(corpus: Path, named: str | None = None) -> Path:
    """The folder of the parser that made them."""
    return corpus / PARSERS_FOLDER / named if named else corpus / "parser"


def tree_sets(corpus: Path) -> list[str]:
    """The trees with a name that a corpus has, in the order of their names."""
    root = corpus / TREES_FOLDER
    found = root.glob(f"*/*/seed-*/{MANIFEST}")
    return sorted(path.parent.relative_to(root).as_posix() for path in found)


def require_tree_set(corpus: Path, named: str) -> None:
    """Check that a corpus has the trees of a ``tree_set``.

    Raises:
        InputError: ``preparse`` did not finish them; those that are there are named.
    """
    there = tree_sets(corpus)
    if named in there:
        return
    name, labelled, seed = named.split("/")
    others = f"; there are: {', '.join(there)}" if there else ""
    raise InputError(
        f"there are no trees {named}{others}",
        path=trees_folder(corpus, named),
        remedy=f"run `conjoin preparse` with --name {name} --labelled {labelled} --seed "
        + seed.removeprefix("seed-"),
    )


def ingest_card(corpus: Path) -> IngestCard:
    """What ``ingest`` wrote of a corpus; nothing where it wrote no record.

    Raises:
        InputError: what stands there is none.
    """
    record = corpus / INGEST_RECORD
    card: IngestCard = read_json(record, IngestCard) if os.path.lexists(record) else {}
    return card


def corpus_name(corpus: Path) -> str:
    """What ``ingest`` called a corpus, with which its sentence ids begin; else its folder's name."""
    return ingest_card(corpus).get("name", corpus.resolve().name)


def coordinators_of(corpus: Path) -> tuple[str, ...]:
    """The coordinators of a corpus, the most frequent first; of one without sentences the usual ones.

    Raises:
        InputError: as ``coordinators_in``.
    """
    path = corpus / SENTENCES_FILE
    return coordinators_in(path) if path.is_file() else USUAL_COORDINATORS


def task_name(corpus: Path) -> str:
    """The task of a corpus, as its ``ingest.json`` names it; without a name it is coordination."""
    return ingest_card(corpus).get("task", COORDINATION)


def require_coordination(place: Path, command: str) -> None:
    """Refuse a corpus of another task, or what lies in one, which a command cannot take.

    Raises:
        SettingsError: it is one.
    """
    corpus = corpus_around(place.absolute()) or place
    name = released_task(place) or task_name(corpus)
    if name != COORDINATION:
        raise SettingsError(
            f"{command} takes corpora of coordination, and {corpus} is one of the task {name!r}; "
            "train and evaluate take those of every task"
        )


def released_task(place: Path) -> str | None:
    """The task of a release of candidates of another task than coordination; None of all else."""
    path = place / MANIFEST
    try:
        manifest: Any = read_json(path, object) if path.is_file() else None
    except InputError:  # which the command says, or counts
        return None
    found = manifest.get("task") if isinstance(manifest, dict) else None
    return found if isinstance(found, str) else None


def corpus_around(place: Path) -> Path | None:
    """The nearest corpus folder at or above ``place``; None if there is none."""
    return next((folder for folder in (place, *place.parents) if is_corpus(folder)), None)


def is_corpus(folder: Path) -> bool:
    """Whether a folder has what its task learns from: sentences, argument pairs or questions."""
    names = (SENTENCES_FILE, RELATIONS_FILE, QUESTIONS_FILE)
    return any((folder / name).is_file() for name in names)


def inputs_in(corpus: Path) -> list[Path]:
    """What stages read of a corpus folder, and what no other output may replace, contain or lie inside."""
    names = (
        SENTENCES_FILE, DEPENDENCIES_FILE, RELATIONS_FILE, QUESTIONS_FILE, TEXT_FILE, INGEST_RECORD,
        DRAWS_FOLDER, TREES_FOLDER, COORDINATED_FOLDER, PARSERS_FOLDER, "models",
    )  # fmt: skip
    return [parser_folder(corpus), *(corpus / name for name in names)]


def draw_file(seed: int, size: int | str) -> str:
    """The name in a corpus folder of a draw of L."""
    return f"{DRAWS_FOLDER}/seed-{seed}/{size}.json"


def ingest_output(corpus: Path, fingerprint: Fingerprint | None = None) -> Output:
    """What ``ingest`` writes into a corpus folder, and the record of it.

    Args:
        corpus: the folder.
        fingerprint: what the files are made of; nobody but ``ingest`` knows it.
    """
    return Output(corpus, corpus / INGEST_RECORD, fingerprint or Fingerprint())


def require_record(corpus: Path) -> None:
    """Refuse a corpus that has what ``ingest`` alone writes, and not its record.

    Raises:
        InputError: it is one.
    """
    if not (corpus / INGEST_RECORD).exists() and (corpus / DRAWS_FOLDER).exists():
        what = f"no {INGEST_RECORD}, so `conjoin ingest` did not finish here"
        raise InputError(what, path=corpus, remedy="run `conjoin ingest` again")


def require_ingested(corpus: Path, *names: str) -> None:
    """Refuse a corpus that ``ingest`` did not finish, or whose files are not those that it wrote.

    A folder that has sentences or text from elsewhere, and nothing that only ``ingest`` writes, passes
    without a record. All files must be there in their sizes; every byte is read of those that are named.

    Args:
        corpus: the folder.
        names: of the files that are to be read; the sentences if none is given.

    Raises:
        InputError: there is no corpus, no record, or not one of this version, or a file differs from it.
    """
    record_file = corpus / INGEST_RECORD
    again = "run `conjoin ingest` again"
    require_record(corpus)
    if not record_file.exists():
        _require_corpus(corpus)
        return
    if "files" not in read_json(record_file, remedy=again):
        raise InputError(
            "an earlier version ingested this corpus, and kept no record of its files",
            path=record_file, remedy=again,
        )  # fmt: skip
    try:
        record = ingest_output(corpus).read()
    except InputError as error:
        raise InputError("not as ingest wrote it", path=record_file, remedy=again) from error
    files = record.files if record else {}
    wanted = names or (SENTENCES_FILE,)
    for name in dict.fromkeys((*wanted, *files)):
        path = corpus / name
        if name not in files:
            if path.exists():
                raise InputError("ingest did not write this file", path=path, remedy=again)
            continue  # its reader says what is missing
        fault = files[name].fault(path, whole=name in wanted)
        if fault:
            raise InputError(f"not as ingest wrote it: {fault}", path=path, remedy=again)


def _require_corpus(corpus: Path) -> None:
    """Refuse a folder that no corpus is in, or that is none: most often its name was mistyped."""
    names = (SENTENCES_FILE, RELATIONS_FILE, QUESTIONS_FILE, TEXT_FILE)
    if any((corpus / name).exists() for name in names):
        return  # one of them may do; who needs the other says so
    beside = corpus.parent
    others = [each.name for each in beside.glob("*") if is_corpus(each)]
    raise InputError(
        f"no corpus here: there is no {SENTENCES_FILE}",
        path=corpus,
        remedy="; ".join(filter(None, (nearest(corpus.name, others), "run `conjoin ingest`"))),
    )


@dataclass(frozen=True, slots=True)
class TreeRows:
    """The rows of all shards of trees, numbered consecutively."""

    shards: tuple[Path, ...]
    counts: tuple[int, ...]

    def __len__(self) -> int:
        """Trees in all."""
        return sum(self.counts)

    def read(self, rows: range) -> Iterator[tuple[SourceSentence, str]]:
        """Sentence and bracketing of some consecutive rows.

        Raises:
            InputError: a shard is missing, damaged or has another schema.
        """
        first = 0
        for path, count in zip(self.shards, self.counts, strict=True):
            part = range(max(rows.start - first, 0), min(rows.stop - first, count))
            first += count
            for row in read_rows(path, TREES, part) if part else ():
                yield (
                    SourceSentence(row["sentence_id"], tuple(row["words"]), row["license"]),
                    row["tree"],
                )


def trees_digest(folder: Path) -> str:
    """SHA-256 that tells trees from others: of the manifest without what was annotated for them.

    So trees of an earlier version, whose manifest does not say that, are the same.

    Raises:
        InputError: preparse has not run.
    """
    path = folder / MANIFEST
    manifest = read_json(path, remedy=_PARSE)
    if manifest.pop("annotation", None) is None:
        return sha256_of(path)
    return hashlib.sha256(json_text(manifest).encode()).hexdigest()


def parser_of_trees(folder: Path) -> str | None:
    """The name of the parser that made the trees of a folder; None where nothing says it."""
    manifest: TreesManifest = read_json(folder / MANIFEST, TreesManifest, remedy=_PARSE)
    return (manifest.get("model") or {}).get("name")


def annotation_of_trees(folder: Path) -> Annotation:
    """What people had annotated for the trees of a folder; not known where an earlier version made them.

    Raises:
        InputError: preparse has not run.
    """
    manifest: TreesManifest = read_json(folder / MANIFEST, TreesManifest, remedy=_PARSE)
    return recorded(manifest, parser_of_trees(folder) or "a parser")


_PARSE = "run `conjoin preparse` first"


def find_trees(folder: Path, sentences: Path) -> TreeRows:
    """The trees of a corpus.

    Raises:
        InputError: preparse has not run or was interrupted, its shards are damaged, or the trees are
            of other sentences than the corpus has now.
    """
    manifest: TreesManifest = read_json(folder / MANIFEST, TreesManifest, remedy=_PARSE)
    shards = [each for each in manifest["shards"] if each["file"].startswith("trees-")]
    for shard in shards:
        if not (path := folder / shard["file"]).is_file() or sha256_of(path) != shard["sha256"]:
            raise InputError(
                "missing, or not as preparse wrote it",
                path=path,
                remedy="run `conjoin preparse` again",
            )
    inputs, dependencies = manifest["inputs"], sentences.with_name(DEPENDENCIES_FILE)
    own = inputs.get("dependencies")
    if inputs["sentences"] != sha256_of(sentences) or (
        own is not None and not (dependencies.is_file() and own == sha256_of(dependencies))
    ):
        raise InputError(
            "trees of other sentences than the corpus has now",
            path=folder,
            remedy="run `conjoin preparse` again",
        )
    if not sum(shard["rows"] for shard in shards):
        raise InputError("no trees", path=folder, remedy="check what preparse printed")
    paths = [folder / shard["file"] for shard in shards]
    return TreeRows(tuple(paths), tuple(shard["rows"] for shard in shards))


def units_of(
    source: Path, wanted: Callable[[Sentence], bool], size: int, limit: int | None = None
) -> tuple[tuple[range, ...], tuple[int, ...], tuple[int, ...]]:
    """Units of the sentences of a file that are wanted, ``size`` in each, in the last maybe fewer.

    Args:
        source: ``sentences.parquet``.
        wanted: whether a sentence is one of them.
        size: of a unit.
        limit: take only the first so many.

    Returns:
        The rows of the file that each unit covers, how many wanted sentences are in them, and their words.
    """
    every = (
        (row, len(sentence.words))
        for row, sentence in enumerate(read_sentences(source))
        if wanted(sentence)
    )
    places = islice(every, limit)
    ends, sizes, words = [0], list[int](), list[int]()
    while unit := list(islice(places, size)):
        ends.append(unit[-1][0] + 1)
        sizes.append(len(unit))
        words.append(sum(count for _, count in unit))
    return tuple(starmap(range, pairwise(ends))), tuple(sizes), tuple(words)

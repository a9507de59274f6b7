"""What an export is made of: rows of a corpus of candidates, or sentences of one that was ingested."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, suppress
from dataclasses import replace
from hashlib import blake2b
from itertools import islice
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from nltk.tree import Tree

from pipeline.core.corpus_folder import (
    DEPENDENCIES_FILE,
    SENTENCES_FILE,
    require_ingested,
    require_tree_set,
    tree_set,
)
from pipeline.core.draws import read_draw
from pipeline.core.errors import InputError, SettingsError
from pipeline.core.parquet import column_names, read_batches, row_count, value_counts
from pipeline.core.schema import CANDIDATES, SENTENCES, candidate_of, read_sentences, sentence_row
from pipeline.core.settings import TreesOf
from pipeline.core.types import COLUMNS, UNDECIDED, Coordination, Sentence, Span, is_undecided
from pipeline.corpus.checked import open_shards
from pipeline.corpus.dependency_rows import has_dependencies
from pipeline.corpus.handing_on import licences_of
from pipeline.corpus.layout import Shards
from pipeline.corpus.origin import find_corpus
from pipeline.corpus.rows import RELEASED, WITH_TREES, generation_key, generations
from pipeline.corpus.validity.checks import require_valid
from pipeline.corpus.writing import require_known_columns
from pipeline.release.candidate_trees import CandidateTrees
from pipeline.sharing.export.dependencies import CandidateDependencies
from pipeline.sharing.export.protocol import Item
from pipeline.sharing.export.settings import ExportSettings
from pipeline.text.columns import with_text
from pipeline.text.splicing import OTHER_WORDS, NoTree, require_sound
from pipeline.text.trees import fitting_tree, one_line, parse_tree

Row = dict[str, Any]

_TOGETHER = 2048  # rows whose trees are looked up at once

SAME_TREE = "a tree that is written already"


class Items(ExitStack):
    """Streams what is to be exported; a context.

    Attributes:
        total: how many there are at most.
        what: what one is called.
        place: what they are read from.
        note: called while sentences are parsed, with how many were.
        shards: the corpus of candidates; None: they are sentences.
        has_heads: whether the format takes dependency trees, and the corpus has them.

    Raises:
        InputError: there is nothing to export, or ``ingest`` did not finish; a corpus that was named has no
            dependency trees, which the format takes.
        SettingsError: options of sentences for candidates.
    """

    def __init__(
        self, settings: ExportSettings, *, trees: bool, dependencies: bool = False
    ) -> None:
        super().__init__()
        self.has_heads = False
        self._corpus: Path | None = None
        self._settings, self._trees = settings, trees
        self.note: Callable[[str], None] = lambda _: None
        self.shards: Shards | None = None
        self._drawn: set[str] | None = None
        sentences = _sentences(settings.place)
        _require_fitting(settings, treebank=sentences is not None, trees=trees)
        if sentences is not None:
            self.place, self.what = sentences, "sentence"
            self.total = row_count(sentences)
            if settings.labelled is not None:
                drawn, _ = read_draw(sentences.parent, settings.seed, settings.labelled)
                self._drawn, self.total = {s.sentence_id for s in drawn}, len(drawn)
            if dependencies:
                self._take_heads(sentences.parent)
            return
        self.shards = open_shards(settings.place, f", or a corpus folder ({SENTENCES_FILE})")
        self.place, self.what = self.shards.place, "candidate"
        if not self.shards.accepted:
            raise InputError(
                "only rejects here, no usable candidates", path=self.place,
                remedy="name another corpus",
            )  # fmt: skip
        self.total = sum(map(_count, self.shards.accepted))
        if dependencies:
            self._take_heads(find_corpus(self.place / "candidates", settings.corpus))

    def _take_heads(self, corpus: Path | None) -> None:
        """Have dependency trees of a corpus, if it has them."""
        if corpus is not None and has_dependencies(corpus):
            self._corpus, self.has_heads = corpus, True
        elif self._settings.corpus is not None:
            raise InputError(
                f"no {DEPENDENCIES_FILE} in this corpus", path=corpus,
                remedy="ingest it from CoNLL-U (again, if an earlier version did), or leave --corpus out",
            )  # fmt: skip

    def __iter__(self) -> Iterator[Item]:
        limit = self._settings.limit
        if self.shards is None:
            found = map(_of_sentence, islice(self._sentences(), limit))
            return self._sentences_with_heads(self._corpus, found) if self._corpus else found
        rows = islice(_rows(self.shards), limit)
        if self._corpus:
            return self._candidates_with_heads(self._corpus, rows)
        items = self._of_candidates(self.shards, rows)
        return _each_tree_once(items) if self._trees else items

    def licences(self) -> dict[str, int]:
        """How many rows have each licence: all of the corpus, or the sentences of the split."""
        if self.shards is not None:
            return {} if self.shards.kind == "stand-off" else licences_of(self.shards)
        found: Counter[str] = Counter()
        split = self._settings.split or ("train" if self._drawn is not None else None)
        columns = pa.schema([SENTENCES.field(name) for name in ("split", "license")])
        for batch in read_batches(self.place, columns, 65_536):
            own = batch if split is None else batch.filter(pc.equal(batch.column("split"), split))
            found.update(value_counts(own.column("license")))
        return dict(found)

    def require_valid(self) -> None:
        """Refuse rows that ``conjoin validate`` refuses; sentences are what ``ingest`` wrote.

        Raises:
            InputError: there are such rows, or files without text.
        """
        if self.shards is None:
            return
        if self.shards.kind == "stand-off":
            raise InputError(
                "this is a stand-off release, which has no text", path=self.place,
                remedy="rebuild it with `conjoin rehydrate` and export that",
            )  # fmt: skip
        for path in self.shards.accepted:
            _schema(path)
        require_known_columns(self.shards)
        require_valid(self.shards, distinct=True)

    def _of_candidates(self, shards: Shards, rows: Iterator[Row]) -> Iterator[Item]:
        own = self._settings.corpus is None and self._settings.trees is None
        if _schema(shards.accepted[0]) is WITH_TREES and own:
            wanted = self._settings.trees_of
            _require_of_parser(shards, wanted)
            return (_of_candidate(row, *_released_tree(row, wanted)) for row in rows)
        if not self._trees:
            return (_of_candidate(row) for row in rows)
        return self._with_trees(shards, rows)

    def _sentences(self) -> Iterator[Sentence]:
        split, drawn = self._settings.split, self._drawn

        def is_wanted(sentence: Sentence) -> bool:
            return split in (None, sentence.split) and (
                drawn is None or sentence.sentence_id in drawn
            )

        return read_sentences(self.place, is_wanted)

    def _sentences_with_heads(self, corpus: Path, items: Iterator[Item]) -> Iterator[Item]:
        made = self.enter_context(CandidateDependencies(corpus))
        while part := list(islice(items, _TOGETHER)):
            found = made.of_sentences([item.name for item in part])
            for item, each in zip(part, found, strict=True):
                yield replace(item, heads=each.tree, no_heads=each.reason)

    def _candidates_with_heads(self, corpus: Path, rows: Iterator[Row]) -> Iterator[Item]:
        made = self.enter_context(CandidateDependencies(corpus))
        while part := list(islice(rows, _TOGETHER)):
            found = made.of([candidate_of(row) for row in part])
            for row, each in zip(part, found, strict=True):
                yield replace(_of_candidate(row), heads=each.tree, no_heads=each.reason)

    def _with_trees(self, shards: Shards, rows: Iterator[Row]) -> Iterator[Item]:
        corpus = find_corpus(shards.place / "candidates", self._settings.corpus)
        if corpus is None:
            raise InputError(
                f"trees are made from those of the source, and no folder here or above has a "
                f"{SENTENCES_FILE}", path=shards.place, remedy="name its corpus folder with --corpus",
            )  # fmt: skip
        require_ingested(corpus)
        wanted = self._settings
        named = None
        if wanted.trees is not None and wanted.labelled is not None:
            named = tree_set(wanted.trees, wanted.labelled, wanted.seed)
            require_tree_set(corpus, named)
        made = self.enter_context(
            CandidateTrees(corpus, wanted.trees_of, generations(shards), named, self.note)
        )  # fmt: skip
        while part := list(islice(rows, _TOGETHER)):
            trees = made.of([(candidate_of(row), row.get("generation")) for row in part])
            for row, found in zip(part, trees, strict=True):
                yield _of_candidate(row, found.tree, found.reason)


def _sentences(place: Path) -> Path | None:
    """The sentences of a corpus folder, if the place is one or the file itself."""
    if place.is_dir() and (place / SENTENCES_FILE).is_file():
        place = place / SENTENCES_FILE
    if place.name != SENTENCES_FILE or not place.is_file():
        return None
    require_ingested(place.parent)
    return place


def _require_fitting(settings: ExportSettings, *, treebank: bool, trees: bool) -> None:
    """Check that no option is given that is for another kind of export.

    Raises:
        SettingsError: one is.
    """
    if settings.trees is not None:
        if treebank or not trees:
            raise SettingsError(
                "export.trees is for candidates in the format ptb", remedy="leave --trees out"
            )
        if settings.labelled is None:
            raise SettingsError(
                "export.trees: trees with a name go with a draw of L",
                remedy="name it with --labelled",
            )
    if not treebank:
        for name in ("split", "labelled"):
            if name == "labelled" and settings.trees is not None:
                continue
            if getattr(settings, name) is not None:
                raise SettingsError(
                    f"export.{name} is for the sentences of a corpus folder: candidates have no splits",
                    remedy=f"leave --{name} out",
                )
    elif settings.labelled is not None and settings.split not in (None, "train"):
        raise SettingsError(
            "export.labelled: the sentences of a draw are of the training split",
            remedy="leave --split or --labelled out",
        )
    if settings.trees_of != "best" and (treebank or not trees):
        what = "a treebank's sentences have their own" if treebank else "other formats have none"
        raise SettingsError(
            f"export.trees_of is for candidates in the format ptb: {what}",
            remedy="leave --trees-of out",
        )


def _count(path: Path) -> int:
    """How many rows a file says it has; a damaged one has none."""
    with suppress(InputError):
        return row_count(path)
    return 0


def _of_sentence(sentence: Sentence) -> Item:
    row = sentence_row(sentence)
    for each in row["coordinations"]:
        each["conjuncts"] = [(span["start"], span["end"]) for span in each["conjuncts"]]
    tree, reason = None, "no tree in the treebank"
    if sentence.tree is not None:
        tree = fitting_tree(sentence.tree, sentence.words)
        reason = "" if tree else OTHER_WORDS
    return Item(
        sentence.sentence_id, sentence.words, sentence.coordinations, sentence.license, row,
        tree, reason, sentence.tags, unannotated=f"a {UNDECIDED}" if is_undecided(sentence) else "",
    )  # fmt: skip


def _of_candidate(row: Row, tree: Tree | None = None, reason: str = "") -> Item:
    tags = None if tree is None else [tag for _, tag in tree.pos()]
    return Item(
        row["candidate_id"], row["words"], (_structure(row),), row["license"], _exported(row),
        tree, reason, tags,
    )  # fmt: skip


def _structure(row: Row) -> Coordination:
    """The coordination of a row."""
    k, spans = row["coordinator"], tuple(Span(**span) for span in row["conjuncts"])
    return Coordination(k, row["words"][k], row["label"], spans)


def _each_tree_once(items: Iterable[Item]) -> Iterator[Item]:
    """The same without trees that were there: the natural coordinations of a sentence share one."""
    seen: set[int] = set()
    for item in items:
        if item.tree is not None:
            # 64 bits: among a billion trees the chance that two are taken for one is 1 in 37.
            bits = int.from_bytes(blake2b(one_line(item.tree).encode(), digest_size=8).digest())
            if bits in seen:
                yield replace(item, tree=None, no_tree=SAME_TREE)
                continue
            seen.add(bits)
        yield item


def _require_of_parser(shards: Shards, wanted: TreesOf) -> None:
    """Check that the trees of a release have nothing of the treebank's where that is wanted.

    A row says ``parser`` where a part is a parser's, so only the manifest tells.

    Raises:
        SettingsError: they may.
    """
    trees = (shards.manifest or {}).get("trees")
    if wanted == "parser" and not (isinstance(trees, dict) and trees.get("of") == wanted):
        raise SettingsError(
            "export.trees_of: trees of this release may be the treebank's in part",
            remedy="release it again with --trees-of parser, or name its corpus folder with --corpus",
        )


def _released_tree(row: Row, wanted: TreesOf) -> tuple[Tree | None, str]:
    """The tree that a row of a release has, or the reason for none."""
    if row["tree"] is None:
        return None, "a row of the release without a tree"
    if wanted not in ("best", row["tree_from"]):
        return None, f"a row of the release with a tree of the {row['tree_from']}"
    try:
        tree = parse_tree(row["tree"])
        require_sound(tree, row["words"], _structure(row))
    except InputError:
        return None, "brackets that cannot be read"
    except NoTree as reason:
        return None, str(reason)
    return tree, ""


def _rows(shards: Shards) -> Iterator[Row]:
    """Stream the usable candidates of a corpus, with all its columns, in the order of its files.

    Raises:
        InputError: a file is damaged, or has other columns.
    """
    # Where ``generate`` wrote the folder, no row says of which run it is.
    own = (shards.manifest or {}).get("fingerprint")
    runs = {"generation": generation_key(own)} if isinstance(own, str) else {}
    for path in shards.accepted:
        for batch in read_batches(path, _schema(path)):
            for row in with_text(batch).to_pylist():
                yield row | {name: run for name, run in runs.items() if name not in row}


_SPANNED = {
    each.name: each.exported_span
    for each in COLUMNS
    if each.kind not in ("string", "list of string", "int32", "float32")
}


def _exported(row: Row) -> Row:
    """The columns of a row, their spans as pairs."""
    return {
        name: _with_pairs(value, _SPANNED[name]) if name in _SPANNED else value
        for name, value in row.items()
    }


def _with_pairs(value: Any, name: str) -> Any:
    """A value with pairs in the place of spans; where a struct has more than a span, it is under a name."""
    match value:
        case {"start": start, "end": end, **more}:
            return {**more, name: (start, end)} if more else (start, end)
        case [*values]:
            return [_with_pairs(each, name) for each in values]
    return value


def _schema(path: Path) -> pa.Schema:
    names = column_names(path)
    if "reason" in names:
        raise InputError(
            "these are rejects", path=path, remedy="name the candidates: only they are exported"
        )
    if "fill_words" in names and "words" not in names:
        raise InputError(
            "this is of a stand-off release, which has no text", path=path,
            remedy="rebuild the release with `conjoin rehydrate` and export that",
        )  # fmt: skip
    if "tree" in names and "generation" in names:
        return WITH_TREES
    return RELEASED if "generation" in names else CANDIDATES

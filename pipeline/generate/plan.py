"""The plan of generation: which references each unit has, fixed before any worker starts.

A unit is a range of rows of the trees, so a plan is a list of ranges, and the sentences of a unit are
read when it is their turn: memory does not grow with the corpus. The trees are those of ``preparse``
or, to measure what parsing costs, the treebank's own of the same sentences.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from pipeline.core.annotation import OTHERS, Annotation, part_of
from pipeline.core.cards.trees import TreesManifest
from pipeline.core.corpus_folder import (
    SENTENCES_FILE,
    TreeRows,
    corpus_name,
    find_trees,
    require_ingested,
    require_tree_set,
    trees_folder,
)
from pipeline.core.documents import read_json
from pipeline.core.draws import every_draw
from pipeline.core.errors import InputError, SettingsError
from pipeline.core.parquet import MANIFEST
from pipeline.core.schema import coordinators_in, read_sentences
from pipeline.core.types import Reference, SourceSentence, Span, is_unlabelled_seed
from pipeline.generate.settings import TREEBANK, GenerateSettings
from pipeline.generate.spans import draw_spans, place_given_spans, read_given_spans
from pipeline.generate.targets import Targets, read_targets
from pipeline.text.gapping import CLAUSE, GappableClause, clauses_in
from pipeline.text.trees import fitting_tree


@dataclass(frozen=True, slots=True)
class GoldRows:
    """The sentences of U, numbered through as ``preparse`` reads them, with their gold trees.

    Attributes:
        path: ``sentences.parquet``.
        rows: the row of each sentence of U there.
    """

    path: Path
    rows: tuple[int, ...]

    def __len__(self) -> int:
        """Sentences in all."""
        return len(self.rows)

    def read(self, rows: range) -> Iterator[tuple[SourceSentence, str | None]]:
        """Sentence and bracketing of some consecutive ones; None: no tree, or one of other words.

        Raises:
            InputError: the file is missing, damaged or has another schema.
        """
        wanted = self.rows[rows.start : rows.stop]
        if not wanted:
            return
        within = range(wanted[0], wanted[-1] + 1)
        places = set(wanted)
        for row, sentence in zip(within, read_sentences(self.path, rows=within), strict=True):
            if row in places:
                source = SourceSentence(sentence.sentence_id, sentence.words, sentence.license)
                tree = sentence.tree
                yield source, tree if fitting_tree(tree, sentence.words) else None

    def annotation(self) -> Annotation:
        """What people had annotated for them: these trees."""
        places = set(self.rows)
        gold = [
            sentence
            for row, sentence in enumerate(read_sentences(self.path))
            if row in places and sentence.tree is not None
        ]
        corpus = self.path.parent
        return (
            part_of(corpus_name(corpus), OTHERS, gold, trees=True, draws=every_draw(corpus)),
        )  # fmt: skip


def find_gold_trees(sentences: Path, trees: Path) -> GoldRows:
    """The gold trees of just the sentences that ``preparse`` parsed, or tried to.

    Args:
        sentences: ``sentences.parquet``.
        trees: the folder that preparse wrote, which knows what U is.

    Raises:
        InputError: preparse has not run, the corpus has no trees, or U is empty.
    """
    seeds = seeds_of(trees)
    found: list[int] = []
    any_tree = False
    for row, sentence in enumerate(read_sentences(sentences)):
        if len(found) == seeds["limit"]:
            break
        if is_unlabelled_seed(sentence, seeds["min_words"]):
            found.append(row)
            any_tree = any_tree or sentence.tree is not None
    if not any_tree:
        raise InputError(
            "no sentence of U has a tree of the treebank",
            path=sentences,
            remedy="this corpus has none: generate with --trees parsed",
        )
    return GoldRows(sentences, tuple(found))


def seeds_of(trees: Path) -> dict[str, Any]:
    """Which sentences are U, in the words of preparse's settings: ``min_words`` and ``limit``.

    Raises:
        InputError: preparse has not run.
    """
    manifest: TreesManifest = read_json(
        trees / MANIFEST,
        TreesManifest,
        remedy="run `conjoin preparse` first",
        needs=["settings.min_words", "settings.limit"],
    )
    settings = manifest["settings"]
    return {"min_words": settings["min_words"], "limit": settings["limit"]}


_Choice = Callable[[SourceSentence, str | None], list[Reference]]


@dataclass(frozen=True, slots=True)
class Plan:
    """References in blocks: unit i is what some rows of the trees offer.

    Attributes:
        trees: the sentences with their trees.
        rows: the rows of each unit.
        sizes: references of each unit at most; a sentence may offer fewer than were asked for.
        choose: the references of a sentence.
        optional: whether a sentence need not have any.
        notes: what concerns the whole plan, counted.
    """

    trees: TreeRows | GoldRows
    rows: tuple[range, ...]
    sizes: tuple[int, ...]
    choose: _Choice
    optional: bool = False
    notes: Mapping[str, int] = field(default_factory=dict)

    def references(self, unit: int) -> tuple[list[Reference], int]:
        """References of a unit in the order of U, and how many of its sentences offered none.

        Raises:
            InputError: as ``TreeRows.read``, or a given span does not fit its sentence.
        """
        found: list[Reference] = []
        without = 0
        for source, tree in self.trees.read(self.rows[unit]):
            chosen = self.choose(source, tree)
            without += not chosen and not self.optional
            found += chosen
        return found, without


def make_plan(settings: GenerateSettings) -> Plan:
    """Makes the plan of a run, the same in every process.

    Raises:
        InputError: no trees, no reference span in any of them, given spans that do not fit, or as
            ``read_targets``.
        SettingsError: spans=given without a file, or a file without spans=given.
    """
    if settings.given is not None and settings.spans != "given":
        raise SettingsError(
            f"generate.spans = {settings.spans!r} takes no file of given spans",
            remedy="add --spans given, or leave --given out",
        )
    folder = trees_folder(settings.corpus, settings.named)
    require_ingested(settings.corpus)
    sentences = settings.corpus / SENTENCES_FILE
    gold = settings.trees == TREEBANK
    if settings.named is not None:
        require_tree_set(settings.corpus, settings.named)
    trees = find_gold_trees(sentences, folder) if gold else find_trees(folder, sentences)
    count = min(settings.limit or len(trees), len(trees))
    if settings.spans == "given":
        if settings.given is None:
            raise SettingsError("generate.spans = 'given' needs --given FILE")
        return _given_plan(trees, count, settings.given, settings.unit)
    targets = None
    if settings.targets is not None:
        targets = read_targets(
            settings.targets, settings.seed, trees, count, frozenset(coordinators_in(sentences))
        )
    constituents = settings.spans == "constituents"
    choose = partial(
        _drawn,
        constituents=constituents, references=settings.references, seed=settings.seed, targets=targets,
        gap=settings.gap,
    )  # fmt: skip
    rows = blocks(count, max(1, settings.unit // settings.references))
    sizes = tuple(len(block) * settings.references for block in rows)
    plan = Plan(trees, rows, sizes, choose, notes=targets.notes() if targets else {})
    # The first sentences will do, unless something is wrong with all of them.
    if not any(choose(*each) for each in trees.read(range(count))):
        if targets is not None:
            raise InputError(
                "no span of U could become a structure that is wanted", path=settings.targets,
                remedy="diagnose with a greater --smoothing, or generate without --targets",
            )  # fmt: skip
        if settings.gap:
            raise InputError(
                "no clause inside a sentence whose verb could be left out",
                path=sentences if gold else folder,
                remedy="check that the trees have parts of speech, or generate without --gap",
            )  # fmt: skip
        raise InputError(
            "no sentence offers a reference span",
            path=sentences if gold else folder,
            remedy="check the treebank's trees" if gold else "check what preparse printed",
        )
    return plan


def blocks(total: int, size: int) -> tuple[range, ...]:
    """Consecutive blocks of ``size`` indices; the last may be shorter."""
    return tuple(range(begin, min(begin + size, total)) for begin in range(0, total, size))


def _drawn(
    source: SourceSentence,
    bracketing: str | None,
    *,
    constituents: bool,
    references: int,
    seed: int,
    targets: Targets | None,
    gap: bool,
) -> list[Reference]:
    tree = fitting_tree(bracketing, source.words)
    if tree is None:  # counted among the sentences without a reference span
        return []
    weigh = targets.weight if targets else None
    clauses: dict[Span, tuple[str, ...]] = {}
    if gap:
        clauses = {c.span: c.staying for _, c in clauses_in(tree) if isinstance(c, GappableClause)}
        weigh = lambda span, label: float(label == CLAUSE and span in clauses)  # noqa: E731
    found = draw_spans(
        source, tree=tree if constituents else None, references=references, seed=seed, weigh=weigh,
    )  # fmt: skip
    if gap:
        return [replace(each, staying=clauses[each.span]) for each in found]
    return [targets.put_on(each) for each in found] if targets else found


def _given_plan(trees: TreeRows | GoldRows, count: int, path: Path, size: int) -> Plan:
    """Units of given spans: each has all spans of its sentences, ``size`` or a few more.

    All are held against their sentences first, so that a mistake in the file stops the run before
    it begins.
    """
    given = read_given_spans(path)

    def choose(source: SourceSentence, _tree: str | None) -> list[Reference]:
        return place_given_spans(source, given.get(source.sentence_id, ()), path)

    unplaced = dict(given)
    rows: list[range] = []
    sizes: list[int] = []
    begin = pairs = 0
    for row, (source, tree) in enumerate(trees.read(range(count))):
        pairs += len(choose(source, tree))
        unplaced.pop(source.sentence_id, None)
        if pairs >= size or (row + 1 == count and pairs):
            rows.append(range(begin, row + 1))
            sizes.append(pairs)
            begin, pairs = row + 1, 0
    for sentence_id, spans in unplaced.items():
        raise InputError(
            "no such sentence among those with a tree",
            path=path,
            line=spans[0].line,
            sentence_id=sentence_id,
            remedy="give spans of sentences that preparse parsed, within --limit",
        )
    return Plan(trees, tuple(rows), tuple(sizes), choose, optional=True)

"""The constituency tree of a candidate, made from those of its source and its donors.

Nothing is stored beside candidates: a tree follows from the sentence's id, the donors' and the trees of the
corpus. An attested conjunct has the donor's own subtree, one that a language model wrote that of a parse of
the filled sentence, and natural text is its own tree. Each part is the treebank's or the parser's.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nltk.tree import Tree

from pipeline.core.annotation import Annotation
from pipeline.core.cards.parser import ParserCard
from pipeline.core.console import warn
from pipeline.core.corpus_folder import (
    PARSERS_FOLDER,
    SENTENCES_FILE,
    coordinators_of,
    parser_folder,
    trees_digest,
    trees_folder,
)
from pipeline.core.documents import read_json
from pipeline.core.parquet import MANIFEST
from pipeline.core.schema import read_sentences
from pipeline.core.settings import TreesOf
from pipeline.core.types import UNLABELLED, Candidate, Donor, Span
from pipeline.corpus.origin import trees_used
from pipeline.corpus.sentence_trees import TREEBANK, KnownSentence, SentenceTrees, trees_behind
from pipeline.text.coordinations import UNTAGGED, as_read, clear_tag
from pipeline.text.splicing import (
    NO_REFERENCE,
    NoTree,
    constituent,
    flat_conjunct,
    require_sound,
    spliced,
    without_words,
)
from pipeline.text.trees import one_line, parse_tree, place_of, rooted, with_tags

if TYPE_CHECKING:  # torch and stanza come in when a sentence must be parsed
    from pipeline.parsing.parser import Parser

PARSER = "parser"
"""What the column ``tree_from`` says where a part of the tree is a parser's; else it says ``TREEBANK``."""

RANDOM = "a random span, which is no constituent"
NO_SENTENCE = "a sentence that the corpus does not have"
NO_SOURCE_TREE = "a source sentence without such a tree"
NO_DONOR_TREE = "a donor that is no constituent of its sentence's tree"
NO_FILL_TREE = "a fill that the parser takes for no constituent of its label"
NO_GOLD_FILL = "a fill that a language model wrote, which no treebank has"
NO_PARSER = "no parser in the corpus to parse it with"
NO_TAGGER = "no tagger beside the parser: run `conjoin preparse` again"
UNPARSED = "a sentence that the parser gives no tree of its words"


@dataclass(frozen=True, slots=True)
class MadeTree:
    """The tree of a candidate and where it is from, or the reason for none."""

    tree: Tree | None
    origin: str | None = None
    reason: str = ""

    @property
    def text(self) -> str | None:
        """The bracketing on one line."""
        return None if self.tree is None else one_line(self.tree)


@dataclass(slots=True)
class _Part:
    """A tree, and whether it is the treebank's."""

    tree: Tree
    gold: bool


@dataclass(slots=True)
class _Row:
    """A candidate with what is known of it, and the parse that it waits for.

    ``tags`` are those that the tree of natural text is to have instead of the parse's, if it can.
    """

    candidate: Candidate
    run: str | None
    known: KnownSentence
    parse: Tree | str | None = None
    tags: Sequence[str] | None = None
    made: MadeTree | None = None

    @property
    def natural(self) -> bool:
        """Whether its words are all the source's: nobody put any in."""
        return self.candidate.words == self.known.words


class CandidateTrees(ExitStack):
    """Makes the trees of candidates of one corpus; a context.

    Args:
        corpus: the corpus folder they were made from.
        trees_of: whose trees to take.
        runs: generations by key, as manifests have them: harvested rows are parsed by their own parser, and
            others have the parser's trees that they were made of.
        named: in the place of those, the trees of a name, as ``tree_set`` has it.
        note: called while sentences are parsed, which takes long, with how many were.

    Raises:
        InputError: as ``SentenceTrees``; trees with a name are not there any more.
    """

    def __init__(
        self,
        corpus: Path,
        trees_of: TreesOf = "best",
        runs: Mapping[str, Mapping[str, Any]] | None = None,
        named: str | None = None,
        note: Callable[[str], None] = lambda _: None,
    ) -> None:
        super().__init__()
        self._note, self._parsed = note, 0
        self._corpus, self._trees_of = corpus, trees_of
        self._coordinators = frozenset(coordinators_of(corpus))
        self._models = {key: str(run.get("model")) for key, run in (runs or {}).items()}
        self._named = named
        self._sets = {} if named else {k: trees_behind(corpus, r) for k, r in (runs or {}).items()}
        if not named and _replaced(corpus, (runs or {}).values()):
            warn(
                "these candidates were made of other trees than preparse has without a name now, of which "
                "their trees are made; `preparse --name` keeps trees apart"
            )
        self._sentences = {
            each: self.enter_context(SentenceTrees(corpus, each))
            for each in (set(self._sets.values()) if self._sets else {named})
        }
        self._gold: set[str] = set()
        self._parsers: dict[Path, Parser | None] = {}
        self._folders: dict[str, Path] | None = None

    def of(self, rows: Sequence[tuple[Candidate, str | None]]) -> list[MadeTree]:
        """The trees of some candidates, in their order.

        Args:
            rows: candidates, each with the key of the generation that made it.

        Raises:
            InputError: a file of the corpus is damaged.
            ModelError: a parser cannot be loaded.
        """
        ids: dict[str | None, set[str]] = {}
        for candidate, run in rows:
            own = ids.setdefault(self._set_of(run), set())
            own |= {candidate.sentence_id, *(donor.sentence_id for donor in candidate.donors)}
        known = {each: self._of_set(each).known(own) for each, own in ids.items()}
        waiting: list[_Row] = []
        made: list[MadeTree | _Row] = []
        for candidate, run in rows:
            source = known[self._set_of(run)].get(candidate.sentence_id)
            if source is None or candidate.label == UNLABELLED:
                made.append(MadeTree(None, reason=NO_SENTENCE if source is None else RANDOM))
                continue
            row = _Row(candidate, run, source)
            row.made = self._attempt(row, known[self._set_of(run)])
            if row.made is None:
                waiting.append(row)
            made.append(row)
        self._parse(waiting)
        for row in waiting:
            row.made = self._attempt(row, known[self._set_of(row.run)])
        return [
            each if isinstance(each, MadeTree) else each.made or MadeTree(None, reason=UNPARSED)
            for each in made
        ]

    def _set_of(self, run: str | None) -> str | None:
        """The name of the trees for the rows of a generation."""
        return self._sets.get(run or "", self._named)

    def _of_set(self, named: str | None) -> SentenceTrees:
        if named not in self._sentences:  # of rows that no manifest speaks of
            self._sentences[named] = self.enter_context(SentenceTrees(self._corpus, named))
        return self._sentences[named]

    def _attempt(self, row: _Row, known: Mapping[str, KnownSentence]) -> MadeTree | None:
        """The tree of a row, or the reason for none; None: it must be parsed first."""
        try:
            part = self._natural(row) if row.natural else self._made(row, known)
        except NoTree as reason:
            return MadeTree(None, reason=str(reason))
        if part is None:
            return None
        return MadeTree(part.tree, TREEBANK if part.gold else PARSER)

    def _natural(self, row: _Row) -> _Part | None:
        candidate = row.candidate
        reason: NoTree | None = None
        for part in self._trees(row.known, self._name(row)):
            # It stands only where it confirms what was harvested, which its mere presence would say.
            if part.gold and self._trees_of != TREEBANK:
                continue
            try:
                require_sound(part.tree, candidate.words, candidate.coordination)
                if part.gold:
                    self._gold.add(candidate.sentence_id)
                return part
            except NoTree as error:  # of the parser's, too, whose tags the harvest did not see
                reason = error
        if self._trees_of == TREEBANK:
            raise reason or NoTree(NO_SOURCE_TREE)
        tree = _parsed(row)
        if tree is None:
            return None
        found = rooted(as_read(tree, self._coordinators))  # as ``harvest`` has it
        require_sound(found, candidate.words, candidate.coordination)
        if row.tags is not None:
            with suppress(NoTree):  # where they make other conjuncts of it, they are left out
                tagged = with_tags(found, row.tags)
                require_sound(tagged, candidate.words, candidate.coordination)
                found = tagged
        return _Part(found, gold=False)

    def _made(self, row: _Row, known: Mapping[str, KnownSentence]) -> _Part | None:
        candidate = row.candidate
        base = next(
            (p for p in self._trees(row.known) if _has(p, candidate.reference, candidate.label)),
            None,
        )
        if base is None:
            some = next(self._trees(row.known), None)
            raise NoTree(NO_SOURCE_TREE if some is None else NO_REFERENCE)
        taken = [(base, candidate.sentence_id)]
        fills = []
        donors = candidate.donors
        if not donors:
            if self._trees_of == TREEBANK:
                raise NoTree(NO_GOLD_FILL)
            parse = _parsed(row)
            if parse is None:
                return None
            fills = [_fill(parse, span, candidate) for span in candidate.conjuncts[1:]]
        for donor in donors:
            part = self._donated(donor, candidate.label, known)
            taken.append((part, donor.sentence_id))
            gap = candidate.gap if donor is donors[-1] else None
            if gap is not None:
                lacking = Span(gap.start - donor.start, gap.end - donor.start)
                part.tree = without_words(part.tree, lacking)
            fills.append(part.tree)
        made = spliced(
            base.tree, candidate.reference, fills, candidate.words, candidate.coordination
        )
        require_sound(made, candidate.words, candidate.coordination)
        people = [sentence_id for part, sentence_id in taken if part.gold]
        self._gold.update(people)
        # Without a donor the fill's part is a parser's.
        return _Part(made, gold=bool(donors) and len(people) == len(taken))

    @property
    def annotation(self) -> Annotation:
        """The record of the treebank's trees that stand, whole or in part, in those that were made."""
        from pipeline.parsing.annotated import gold_part  # noqa: PLC0415 - as below

        source = self._corpus / SENTENCES_FILE
        found = read_sentences(source, lambda each: each.sentence_id in self._gold)
        return gold_part(self._corpus, list(found)) if self._gold else ()

    def _donated(self, donor: Donor, label: str, known: Mapping[str, KnownSentence]) -> _Part:
        sentence = known.get(donor.sentence_id)
        span = Span(donor.start, donor.end)
        for part in self._trees(sentence) if sentence else ():
            if _has(part, span, label):
                return _Part(constituent(part.tree, span, label, NO_DONOR_TREE), part.gold)
        raise NoTree(NO_DONOR_TREE if sentence else NO_SENTENCE)

    def _trees(self, known: KnownSentence, parser: str | None = None) -> Iterator[_Part]:
        """The trees of a sentence that may be taken, the best first.

        Args:
            known: the sentence.
            parser: the parser that alone will do; None: any.
        """
        if known.gold is not None and self._trees_of != PARSER:
            yield _Part(_tree(known.gold), gold=True)
        # Where preparse took the treebank's trees, those are no parser's.
        own = known.parser != TREEBANK and parser in (None, known.parser)
        if known.parsed is not None and self._trees_of != TREEBANK and own:
            yield _Part(_tree(known.parsed), gold=False)

    def _name(self, row: _Row) -> str | None:
        """The name of the parser that found a harvested row."""
        model = self._models.get(row.run or "")
        return None if model is None else model.partition(" sha256:")[0]

    def _parse(self, rows: Sequence[_Row]) -> None:
        """Give rows their parse, or the reason for none."""
        groups: dict[Path | None, list[_Row]] = {}
        for row in rows:
            groups.setdefault(self._folder(row), []).append(row)
        for folder, group in groups.items():
            parser = None if folder is None else self._parser(folder)
            if parser is None:
                for row in group:
                    row.parse = NO_PARSER
                continue
            self._run(parser, group)

    def _run(self, parser: "Parser", rows: Sequence[_Row]) -> None:
        from pipeline.executor.launch import threads_of_torch  # noqa: PLC0415 - as above

        # A sentence in which several coordinations were found is parsed once.
        asked: dict[tuple[tuple[str, ...], tuple[str, ...]], list[_Row]] = {}
        for row in rows:
            tags = _tags(parser, row, self._coordinators)
            if tags is None:
                row.parse = NO_TAGGER
                continue
            if row.natural and not parser.needs_tags:
                # Harvest gave it none.
                row.tags, tags = tags, [UNTAGGED] * len(tags)
            asked.setdefault((row.candidate.words, tuple(tags)), []).append(row)
        # As preparse has by default: a small parser only waits for a second one.
        with threads_of_torch(1):
            parsed = parser.outcomes(
                [words for words, _ in asked], [tags for _, tags in asked],
                on_batch=self._tell,
            )  # fmt: skip
        for alike, each in zip(asked.values(), parsed, strict=True):
            for row in alike:
                row.parse = UNPARSED if each.tree is None else each.tree

    def _tell(self, sentences: int, _words: int) -> None:
        self._parsed += sentences
        self._note(f"{self._parsed:,} sentences parsed")

    def _folder(self, row: _Row) -> Path | None:
        """The folder of the parser for a row: that which found natural text, else that of its trees."""
        model = self._models.get(row.run or "")
        if not row.natural or model is None:
            return parser_folder(self._corpus, self._set_of(row.run))
        if self._folders is None:
            self._folders = _parsers_of(self._corpus)
        return self._folders.get(model)

    def _parser(self, folder: Path) -> "Parser | None":
        from pipeline.parsing.card import corpus_parser  # noqa: PLC0415 - as above
        from pipeline.parsing.parser import CARD  # noqa: PLC0415 - as above

        if folder not in self._parsers:
            found = None
            if (folder / CARD).is_file() and read_json(folder / CARD, ParserCard)[
                "source"
            ] != TREEBANK:
                found = corpus_parser(folder)
            self._parsers[folder] = found
        return self._parsers[folder]


def _replaced(corpus: Path, runs: Iterable[Mapping[str, Any]]) -> bool:
    """Whether the trees without a name are others than some generations were made of."""
    folder = trees_folder(corpus)
    used = trees_used(run for run in runs if trees_behind(corpus, run) is None)
    return bool(used) and (folder / MANIFEST).is_file() and used != {trees_digest(folder)}


def _parsers_of(corpus: Path) -> dict[str, Path]:
    """The folders of a corpus's parsers, by what manifests of ``harvest`` call them."""
    from pipeline.parsing.card import parser_identity  # noqa: PLC0415 - as above
    from pipeline.parsing.parser import CARD  # noqa: PLC0415 - as above

    found = {}
    # Those of L's trees that a harvest trained, and those with a name.
    others = [sorted((corpus / PARSERS_FOLDER).glob(f"{each}/{CARD}")) for each in ("*/*", "*/*/*")]
    for card in [parser_folder(corpus) / CARD, *chain.from_iterable(others)]:
        if not card.is_file():
            continue
        known = parser_identity(read_json(card, ParserCard))
        found[f"{known['name']} sha256:{known['sha256']}"] = card.parent
    return found


@lru_cache(256)
def _tree(bracketing: str) -> Tree:
    """A tree, which nobody may change: those of a sentence are asked for again and again."""
    return parse_tree(bracketing)


def _has(part: _Part, span: Span, label: str) -> bool:
    return place_of(part.tree, span, label) is not None


def _parsed(row: _Row) -> Tree | None:
    """The parse of a row, if it was parsed.

    Raises:
        NoTree: it has none.
    """
    if isinstance(row.parse, str):
        raise NoTree(row.parse)
    return row.parse


def _fill(parse: Tree, span: Span, candidate: Candidate) -> Tree:
    """The part of the filled sentence's parse that a fill is.

    That is the constituent of the label over just its words, or its words as one if the parser takes the
    coordination for a flat one of this label; all else would be guessed.

    Raises:
        NoTree: it is neither.
    """
    if place_of(parse, span, candidate.label) is None:
        flat = flat_conjunct(parse, span, candidate.label, candidate.coordinator)
        if flat is not None:
            return flat
    return constituent(parse, span, candidate.label, NO_FILL_TREE)


def _tags(parser: "Parser", row: _Row, coordinators: AbstractSet[str]) -> list[str] | None:
    """The tags to parse a row with; None where some are needed, and nothing makes them.

    A parser that reads the treebank's is given them, and the tagger's for what a fill put in. Into the tree
    of one that reads none the tagger's are written; of natural text those of coordinators and punctuation
    are as ``harvest`` takes them, so that the reader finds what it found.
    """
    candidate, own = row.candidate, row.known.tags
    if row.natural and parser.needs_tags:
        return None if own is None else list(own)
    if parser.tagger is None:
        return (
            None
            if parser.needs_tags
            else [clear_tag(word, coordinators) for word in candidate.words]
        )
    tags = list(parser.tagger.tag(candidate.words))
    if row.natural:
        clear = (clear_tag(word, coordinators) for word in candidate.words)
        return [old if new == UNTAGGED else new for old, new in zip(tags, clear, strict=True)]
    if parser.needs_tags and own is not None:
        start, end = candidate.reference.start, candidate.reference.end
        moved = candidate.conjuncts[0].start - start
        tags[:start] = own[:start]
        tags[start + moved : end + moved] = own[start:end]
        tags[len(tags) - len(own) + end :] = own[end:]
    tags[candidate.coordinator] = "CC"
    return tags

"""Stage ``preparse``: constituency trees of the unlabelled sentences U (§3.3 of the paper)."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

from pipeline.core import console
from pipeline.core.annotation import Annotation, Part, as_json, joined
from pipeline.core.cards.parser import ParserCard, ParserTraining
from pipeline.core.cards.trees import CoordinatedTally, PreparseCard, TreesManifest
from pipeline.core.claims import Claim, Listed, appearing
from pipeline.core.corpus_folder import (
    COORDINATED_FOLDER,
    SENTENCES_FILE,
    parser_folder,
    require_ingested,
    trees_folder,
)
from pipeline.core.device import best_device
from pipeline.core.errors import InputError, ModelError
from pipeline.core.files import LOCK, WORKERS, sha256_of, write_json
from pipeline.core.fingerprint import Fingerprint, versions_of
from pipeline.core.parquet import MANIFEST, RECORDS
from pipeline.core.schema import TREES, UNPARSED, read_sentences, sentence_row
from pipeline.core.tally import Tally
from pipeline.core.types import Sentence
from pipeline.corpus.parsed_text import ParsedText, parsed_text
from pipeline.executor import launch
from pipeline.executor.monitor import Store
from pipeline.executor.run import Make, OnBatch, RunReport, run_units
from pipeline.executor.units import UnitContent, UnitFolder, patterns_of, written_units
from pipeline.parsing.annotated import annotation_of_parser, gold_part
from pipeline.parsing.card import TREEBANK, corpus_parser, parser_identity, tagger_sum
from pipeline.parsing.making import made_by_one
from pipeline.parsing.parser import Parser, tags_to_write
from pipeline.preparse.corpus_parser import ensure_parser
from pipeline.preparse.learned import show_learned
from pipeline.preparse.plan import ParsePlan, coordinated_plan, unlabelled_plan
from pipeline.preparse.settings import PreparseSettings
from pipeline.text.dependency_phrases import DependencyPhrases
from pipeline.text.trees import one_line, tree_of_words

ALGORITHM = 3
"""Raise it when a code change changes the trees made from the same settings and sentences: they are
then stale."""

REPORT = "preparse.json"
"""What was parsed, by whom: in the corpus folder, of trees with a name beside them."""

_POOR = 0.2
"""A trained parser's F1 below which hardly any of its constituents is one."""


def run(settings: PreparseSettings) -> None:
    """Write ``trees/``, ``coordinated/``, ``preparse.json`` and ``parser/`` into the corpus folder.

    With a name only trees of U are written, to a folder of their own with their ``preparse.json``, and their
    parser to another.

    Raises:
        InputError: the corpus has no unlabelled sentences, no trees to learn from or fewer than are asked
            for, none with a coordinator though such are asked for, or another run writes here.
        ModelError: the parser cannot be loaded or parses nothing.
    """
    require_ingested(settings.corpus)
    source, out = settings.corpus / SENTENCES_FILE, trees_folder(settings.corpus, settings.named)
    plans = [unlabelled_plan(source, settings)]
    if settings.coordinated and settings.named is None:
        plans.append(coordinated_plan(source, settings))
    claims = [_claim(settings.corpus / plan.folder / (settings.named or "")) for plan in plans]
    if settings.named is None and not settings.coordinated:
        claims.append(_empty_claim(settings))
    for claim in claims:
        claim.check()
    card = _parser_card(settings, plans)
    if settings.processes > 1 and not launch.in_launch():
        gpus = card["source"] != TREEBANK and not str(card["source"]).endswith(".pt")
        launch.launch(settings.command_line(), settings.processes, out, gpus=gpus, claim=claims[0])

    @cache
    def parser() -> Parser | ParsedText | None:
        if card["source"] == TREEBANK:
            return parsed_text(settings.corpus)
        return corpus_parser(parser_folder(settings.corpus, settings.named))

    # The lock on the trees stands for the coordinated sentences as well: nothing else writes them.
    with launch.working(out, settings.threads, claims[0]) as worker:
        # A worker lost in the first plan would not come to open the store of the second.
        stores = [Store(worker) for _ in plans]
        reports = [
            _parse(settings, card, plan, worker, store=store, parser=parser)
            for plan, store in zip(plans, stores, strict=True)
        ]
        tallies = [report[0] for report in reports if report]
        if not tallies:
            return
        if settings.named is not None and settings.coordinated:
            console.say(
                "coordinated sentences go with the trees without a name, and are not parsed here"
            )
        elif not settings.coordinated:
            _mark_empty(settings, source)
        _finish(settings, card, tallies, plans)
        for _, report in filter(None, reports):
            report.show("sentences")


_TOLD = frozenset({"limit", "coordinated", "sentences"})
"""Settings and inputs of which a unit's sentences tell all."""

_SCHEMAS = {"trees": TREES, "rejects": UNPARSED}


def _claim(folder: Path) -> Claim:
    """On shards of trees, beside which folders of others lie."""
    return Claim(
        folder, "preparse", earlier=lambda place: written_units(place, _SCHEMAS) or None,
        parts=patterns_of(_SCHEMAS), alone=False,
    )  # fmt: skip


def _empty_claim(settings: PreparseSettings) -> Claim:
    """On the folder of coordinated sentences, if that is to say that there are none."""

    def earlier(place: Path) -> Listed:
        records = {path.relative_to(place).as_posix() for path in place.glob(f"{RECORDS}/*.json")}
        written = written_units(place, _SCHEMAS)
        return written | records | {LOCK, WORKERS} if written else None

    return Claim(settings.corpus / COORDINATED_FOLDER, "preparse", earlier=earlier)


def _parse(
    settings: PreparseSettings,
    card: ParserCard,
    plan: ParsePlan,
    worker: launch.Worker,
    *,
    store: Store,
    parser: Callable[[], Parser | ParsedText | None],
) -> tuple[Tally, RunReport] | None:
    """Make the units of one plan; returns what came of them to worker 0.

    Raises:
        ModelError: not one sentence could be parsed.
    """
    source = settings.corpus / SENTENCES_FILE
    made_of = _fingerprint(settings, card, plan)
    place = settings.corpus / plan.folder / (settings.named or "")
    record = as_json(_annotation(settings, card, [plan]))

    @lru_cache(maxsize=1)
    def sentences(index: int) -> list[Sentence]:
        return list(read_sentences(source, plan.wanted, plan.rows[index]))

    content = UnitContent(lambda index: [sentence_row(s) for s in sentences(index)], _TOLD)
    folder = UnitFolder(
        place, len(plan.rows), _SCHEMAS, made_of, annotation=record, content=content
    )

    def prepare() -> Make:
        loaded = parser()

        def make(index: int, on_batch: OnBatch) -> None:
            parsed, unparsed = parse_unit(sentences(index), loaded, settings.batch_size, on_batch)
            tally = Tally(len(parsed), Counter(row["reason"] for row in unparsed))
            folder.write(index, {"trees": parsed, "rejects": unparsed}, tally)

        return make

    what = f"preparse ({plan.title})"
    report = run_units(
        worker, folder, plan.sizes, prepare,
        what=what, items="sentences", words=plan.words, store=store,
    )  # fmt: skip
    if report is None:
        return None
    tally = folder.tally()
    console.table(f"Trees of the {plan.title}", ("outcome", "sentences"), tally.rows())
    if not tally.kept:
        reasons = "; ".join(f"{reason}: {count}" for reason, count in tally.rows()[1:])
        raise ModelError(
            f"not one sentence could be parsed ({reasons})",
            path=folder.folder,
            remedy="choose another --parser",
        )
    return tally, report


def _mark_empty(settings: PreparseSettings, source: Path) -> None:
    """A folder of coordinated sentences that says there are none: DVC wants every output."""
    with appearing(_empty_claim(settings)) as folder:
        manifest: TreesManifest = {
            "inputs": {"sentences": sha256_of(source)},
            "settings": {"coordinated": 0},
            "shards": [],
        }
        write_json(folder / MANIFEST, manifest)


def _parser_card(settings: PreparseSettings, plans: Sequence[ParsePlan]) -> ParserCard:
    """The corpus's parser, made if it must be, by one process for all."""
    folder = parser_folder(settings.corpus, settings.named)

    def make() -> ParserCard:
        return ensure_parser(settings, lambda: _gold(settings, plans))

    return made_by_one(folder, settings.threads, make)


def _annotation(
    settings: PreparseSettings, card: ParserCard, plans: Sequence[ParsePlan]
) -> Annotation:
    """What people had annotated for the trees of some plans."""
    if card["source"] == TREEBANK:
        return _gold(settings, plans)
    return annotation_of_parser(parser_folder(settings.corpus, settings.named))


def _gold(settings: PreparseSettings, plans: Sequence[ParsePlan]) -> Annotation:
    """The record of the trees that came with the sentences of some plans."""
    source = settings.corpus / SENTENCES_FILE
    text = parsed_text(settings.corpus)
    parts: list[Part] = []
    for plan in plans:
        own = [s for rows in plan.rows for s in read_sentences(source, plan.wanted, rows)]
        parts += gold_part(settings.corpus, own)
        if text is not None:
            parts += text.annotation(own)
    return joined(parts)


def _fingerprint(settings: PreparseSettings, card: ParserCard, plan: ParsePlan) -> Fingerprint:
    """Everything the trees depend on."""
    fields = {"batch_size", "parser", "threads", "unit", *plan.fields}
    inputs = {"sentences": sha256_of(settings.corpus / SENTENCES_FILE)}
    # Only trees that it wrote tags into depend on it: those of gold tags, or of a treebank, stay current.
    if tagger := tagger_sum(parser_folder(settings.corpus, settings.named)):
        inputs["tagger"] = tagger
    model = parser_identity(card)
    # As above: where no text came parsed, trees stay current.
    if card["source"] == TREEBANK and (text := parsed_text(settings.corpus)):
        inputs |= text.inputs
        model["name"] = text.beside_treebank
    return Fingerprint(
        settings=settings.model_dump(mode="json", include=fields),
        inputs=inputs,
        model=model,
        algorithm=ALGORITHM,
        versions=versions_of("pyarrow", "stanza", "torch"),
        machine={"device": launch.describe(best_device())},
    )


def _finish(
    settings: PreparseSettings,
    card: ParserCard,
    tallies: Sequence[Tally],
    plans: Sequence[ParsePlan],
) -> None:
    left_out = plans[0].left_out
    for reason, count in left_out.items():
        console.say(f"left out of the unlabelled sentences: {count:,} ({reason})")
    training = card["training"]
    coordinated: CoordinatedTally | None = None
    if len(tallies) > 1:
        coordinated = {"asked": settings.coordinated, **tallies[1].to_dict()}
    annotation = _annotation(settings, card, plans)
    text = parsed_text(settings.corpus) if card["source"] == TREEBANK else None
    report: PreparseCard = {
        "parser": text.beside_treebank if text else parser_identity(card)["name"],
        "unlabelled": tallies[0].to_dict(),
        "left_out": dict(left_out),  # no seeds, so no tree was tried
        # `parser` made these trees too: with `treebank` they are gold, boundaries and all.
        "coordinated": coordinated,
        "training": training,
        "min_words": settings.min_words,
        "annotation": as_json(annotation),
    }
    place = settings.corpus
    if settings.named is not None:
        place = trees_folder(settings.corpus, settings.named)
    write_json(place / REPORT, report)
    if training:
        _show_training(training)
    show_learned(annotation)


def _show_training(training: ParserTraining) -> None:
    console.say(
        f"parser: {training['trees']} trees, best epoch {training['best_epoch']} of "
        f"{training['epochs']}, F1 {training['f1']:.4f} on {training['dev_trees']} other trees"
    )
    if training["f1"] < _POOR:
        console.say(
            f"warning: an F1 below {_POOR} says that the parser has learnt little, so its trees, and "
            "the candidates made from them, will be poor: try more --parser-trees or --parser-epochs, "
            "or --parser with another corpus's folder"
        )


def parse_unit(
    sentences: Sequence[Sentence],
    parser: Parser | ParsedText | None,
    batch_size: int,
    on_batch: OnBatch = lambda *_: None,
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Rows of ``TREES`` and of ``UNPARSED`` for the sentences of a unit, in their order.

    Args:
        sentences: the unit's.
        parser: None takes the treebank's own trees; a ``ParsedText`` those, and its own where there are none.
        batch_size: sentences per call of the parser.
        on_batch: called with the progress.
    """
    parsed: list[dict[str, Any]] = []
    unparsed: list[dict[str, Any]] = []
    trees = _trees(sentences, parser, batch_size, on_batch)
    for sentence, (tree, reason) in zip(sentences, trees, strict=True):
        row = {"sentence_id": sentence.sentence_id}
        if tree is not None:
            try:
                tree_of_words(tree, sentence.words)
            except InputError as error:
                tree, reason = None, error.what.partition(": ")[0]  # noqa: PLW2901
        if tree is None:
            unparsed.append(row | {"reason": reason or "no tree found"})
        else:
            made = {"words": list(sentence.words), "tree": tree, "license": sentence.license}
            gold = not isinstance(parser, Parser) and sentence.tree is not None
            name = parser.name if parser is not None and not gold else TREEBANK
            parsed.append(row | made | {"parser": name})
    return parsed, unparsed


def _trees(
    sentences: Sequence[Sentence],
    parser: Parser | ParsedText | None,
    batch_size: int,
    on_batch: OnBatch,
) -> list[tuple[str | None, str | None]]:
    """Bracketing of each sentence, or the reason for none."""
    if not isinstance(parser, Parser):
        on_batch(len(sentences), sum(len(s.words) for s in sentences))
        of_text = parser.phrases(sentences) if parser else {}
        return [_treebank_tree(sentence, of_text) for sentence in sentences]
    words, tags = [s.words for s in sentences], tags_to_write(parser, sentences)
    outcomes = parser.outcomes(words, tags, at_once=batch_size, on_batch=on_batch)
    return [(one_line(o.tree) if o.tree is not None else None, o.reason) for o in outcomes]


def _treebank_tree(
    sentence: Sentence, of_text: Mapping[str, DependencyPhrases]
) -> tuple[str | None, str | None]:
    tree = sentence.tree
    if not tree and sentence.sentence_id in of_text:
        tree = of_text[sentence.sentence_id].bracketing
    return tree, None if tree else "no tree in the treebank"

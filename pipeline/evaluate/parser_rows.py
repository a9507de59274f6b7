"""The rows of parsers: alone, and beside the predictor of every run that they go with."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from typing import Any

from pipeline.core.annotation import Annotation, joined
from pipeline.core.cards.evaluation import TogetherRun
from pipeline.core.cards.ingest import DrawFile
from pipeline.core.cards.runs import RunCard
from pipeline.core.console import Meter, in_one_piece, say, track, warn
from pipeline.core.corpus_folder import draw_file
from pipeline.core.documents import read_json
from pipeline.core.draws import read_draw
from pipeline.core.files import digest_of, sha256_of
from pipeline.core.fingerprint import Fingerprint, versions_of
from pipeline.core.run_annotation import annotation_of_run_card
from pipeline.core.runs import TOGETHER, System
from pipeline.core.types import Coordination
from pipeline.evaluate.answers import Answers
from pipeline.evaluate.combining import WAYS, Asked, Beside
from pipeline.evaluate.kept import Kept, Made
from pipeline.evaluate.parsers import (
    Draw,
    PlacedParser,
    find_parsers,
    seen_by,
    structures_of,
)
from pipeline.evaluate.scoring import Scored, entry
from pipeline.evaluate.settings import VALIDATION, EvaluateSettings
from pipeline.parsing.annotated import annotation_of_parser
from pipeline.parsing.card import corpus_parser, is_taught, parser_identity, read_card
from pipeline.parsing.making import ENCODERS
from pipeline.tasks.coordination.instances import (
    Instance,
    Row,
    digest,
    instances_of,
    row_of,
    sentences_in,
)
from pipeline.tasks.coordination.task import CoordinationTask
from pipeline.text.coordinations import READING

Runs = Sequence[tuple[Path, RunCard]]
"""Folders of finished runs, with their cards."""


class ParserRows:
    """Makes the rows of the parsers that are asked for.

    Args:
        settings: the stage's.
        instances: of the split.
        kept: where rows are kept.
        about: what the rows of every run depend on.
        answers: get those of the rows, too.

    Raises:
        InputError: there is no such parser.
    """

    def __init__(
        self,
        settings: EvaluateSettings,
        instances: Sequence[Instance],
        kept: Kept,
        about: Fingerprint,
        answers: Answers,
    ) -> None:
        self._settings, self._instances = settings, instances
        self._kept, self._about, self._answers = kept, about, answers
        self._parsers = [
            parser
            for given in dict.fromkeys(settings.parser)
            for parser in find_parsers(settings.corpus, given)
        ]
        self._on_validation = cache(self._read_validation)

    def of(self, runs: Runs) -> Iterator[Scored]:
        """The entries of all rows: a parser's own for each draw, and two for each run that it goes with.

        A parser that goes with all draws is the same in each.

        Raises:
            InputError: two rows have one name, or a parser's draw is not there.
            ModelError: a parser or a predictor cannot be loaded.
        """
        sizes = {_draw_of(card): card["labelled"] for _, card in runs}
        for parser in self._parsers:
            alone = self._parsed(parser, parser.shown, self._instances, self._about)
            record = annotation_of_parser(parser.folder)
            for draw in sorted(sizes) if parser.draw is None else [parser.draw]:
                yield self._alone(parser, alone, record, draw, sizes.get(draw))
            beside = [each for each in runs if parser.goes_with(_draw_of(each[1]))]
            for folder, card in track(beside, f"evaluate with {parser.shown}"):
                yield from self._beside(parser, alone, record, folder, card)
        for draw in sorted(sizes):
            names = {parser.name for parser in self._parsers if parser.goes_with(draw)}
            lacking = dict.fromkeys(p.name for p in self._parsers if p.name not in names)
            if lacking:
                say(f"no rows for {draw[0]}/seed-{draw[1]}, of which none is: {', '.join(lacking)}")

    def _alone(
        self,
        parser: PlacedParser,
        rows: Sequence[Row],
        record: Annotation,
        draw: Draw,
        labelled: int | None,
    ) -> Scored:
        if labelled is None:  # a draw that no run is of
            path = self._settings.corpus / draw_file(draw[1], draw[0])
            drawn: DrawFile = read_json(
                path, DrawFile, remedy="run `conjoin ingest` with that draw"
            )
            labelled = len(drawn["labelled"])
        system = System.parser_alone(parser.name, taught=is_taught(parser.folder))
        card = {"labelled": labelled, "draw": draw[0], "seed": draw[1]}
        made_of = replace(self._about, settings={}, inputs={"rows": digest_of(list(rows))})
        name = f"{system}-{labelled}-{draw[1]}"
        self._kept.rows(name, made_of, lambda: (rows, {}))
        return self._entry(system, card, record, rows)

    def _beside(
        self,
        parser: PlacedParser,
        alone: Sequence[Row],
        record: Annotation,
        folder: Path,
        card: RunCard,
    ) -> Iterator[Scored]:
        """The entries of a run's predictor beside a parser."""
        draw, tau = _draw_of(card), self._settings.tau
        beside = Beside(
            folder, self._settings, (self._instances, alone),
            lambda: self._on_validation(parser, draw),
        )  # fmt: skip
        record = joined([*annotation_of_run_card(card, self._settings.corpus), *record])
        for combined in WAYS:
            system = System.of(card).with_parser(
                parser.name, combined, taught=is_taught(parser.folder)
            )
            inputs = {**self._about.inputs, "parsed": digest_of(list(alone))}
            settings = {**self._about.settings, "combined": combined}
            if combined == TOGETHER:
                settings["tau"] = tau
                if tau == VALIDATION:
                    inputs["validation"] = digest_of(list(self._on_validation(parser, draw)[1]))
            made_of = replace(
                self._about, settings=settings, inputs=inputs, model=sha256_of(folder / "predictor")
            )
            name = f"{system}-{card['labelled']}-{card['seed']}"
            rows, facts = self._kept.rows(name, made_of, partial(beside.rows, combined))
            found, counts = self._entry(system, card, record, rows)
            if "tau" in facts:
                together: TogetherRun = {**found, "tau": facts["tau"]}
                found = together
            yield found, counts

    def _entry(
        self, system: System, card: Mapping[str, Any], record: Annotation, rows: Sequence[Row]
    ) -> Scored:
        self._answers.add(system, card, rows)
        judged = CoordinationTask.evaluation.judged(self._instances, rows)
        return entry(system, card, record, judged)

    def _read_validation(self, parser: PlacedParser, draw: Draw) -> Asked:
        """The instances of a draw's validation sentences, and what the parser finds there."""
        instances = instances_of(read_draw(self._settings.corpus, draw[1], draw[0])[1])
        about = replace(self._about, inputs={"sentences": digest(instances)})
        name = f"{parser.name}-validation-{draw[0]}-{draw[1]}"
        return instances, self._parsed(parser, name, instances, about)

    def _parsed(
        self, parser: PlacedParser, name: str, instances: Sequence[Instance], about: Fingerprint
    ) -> Sequence[Row]:
        """The rows of a parser alone, whose sentences are parsed once; what has no tree is said."""
        sentences = sentences_in(instances)

        def parse() -> Made:
            with in_one_piece(f"load parser {name}"):
                loaded = corpus_parser(parser.folder)
            count = sum(len(sentence.words) for sentence in sentences)
            with Meter(f"parser {name}, {len(sentences):,} sentences by words", count) as meter:
                made = structures_of(loaded, sentences, lambda _, words: meter.advance(words))
            of = {s.sentence_id: each for s, each in zip(sentences, made.found, strict=True)}
            rows = [_row(each, of[each.sentence.sentence_id]) for each in instances]
            return rows, {"unparsed": made.unparsed, "tags": loaded.needs_tags}

        made_of = replace(
            about,
            settings={},
            inputs={**about.inputs, "reading": READING},
            model=parser_identity(read_card(parser.folder)),
            versions=versions_of("stanza", "torch", *ENCODERS),
        )
        rows, facts = self._kept.rows(f"parsed.{name}", made_of, parse)
        for reason, count in facts["unparsed"].items():
            say(f"parser {name}: {count:,} of {len(sentences):,} sentences have no tree ({reason})")
        if facts["tags"]:
            say(f"parser {name} is given the treebank's tags of these sentences")
        seen = seen_by(parser, sentences)
        if seen is None:
            warn(f"parser {name}: nothing says which sentences it learned from")
        elif seen:
            warn(
                f"parser {name} learned from, or chose its epoch by, {seen:,} of these "
                f"{len(sentences):,} sentences"
            )
        return rows


def _draw_of(card: RunCard) -> Draw:
    """The draw of a run."""
    return str(card.get("draw", card["labelled"])), card["seed"]


def _row(instance: Instance, structures: Mapping[int, Coordination]) -> Row:
    structure = structures.get(instance.gold.coordinator)
    return row_of(instance, structure.conjuncts if structure else (), 0.0)

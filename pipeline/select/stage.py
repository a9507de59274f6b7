"""The ``select`` stage: folders of candidates in, the chosen ones in a folder of the same form out.

What is not chosen is in ``rejects-*`` with the reason, beside the rejects that there were, once for each
content that no chosen row has. What a licence keeps out is only counted, so that the result is under the
licences that were asked for.
"""

from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from pipeline.core.annotation import Annotation, joined
from pipeline.core.cards.candidates import (
    CandidatesHistory,
    CandidatesManifest,
    SampleForm,
    SelectionForm,
)
from pipeline.core.claims import Claim, appearing
from pipeline.core.console import Meter, say, table, warn
from pipeline.core.corpus_folder import SENTENCES_FILE
from pipeline.core.errors import InputError, SettingsError
from pipeline.core.files import digest_of, sha256_of, write_json
from pipeline.core.fingerprint import Fingerprint, versions_of
from pipeline.core.names import nearest
from pipeline.core.parquet import MANIFEST, row_count
from pipeline.corpus.annotated import annotation_of_predictor
from pipeline.corpus.card import write_card
from pipeline.corpus.counts import Survey
from pipeline.corpus.handing_on import require_home
from pipeline.corpus.layout import Shards, find_shards
from pipeline.corpus.licences import canonical, permits
from pipeline.corpus.manifest import read_manifest
from pipeline.corpus.rows import RELEASED_REJECTS, lost_trees
from pipeline.corpus.validity.checks import require_valid
from pipeline.corpus.writing import (
    GatheredRows,
    dropped_so_far,
    manifest_facts,
    selections,
    sound,
    united_runs,
    write_kind,
)
from pipeline.models.loading import identity
from pipeline.select.choice import Choice, kept_rows
from pipeline.select.choosing import PROBABILITIES_FILE, Inputs, choose
from pipeline.select.conditions import conditions_of
from pipeline.select.leakage import HeldOut, held_out_corpus
from pipeline.select.settings import SelectSettings
from pipeline.select.strata import Features, annotation_of_like, features_of_draw
from pipeline.text.columns import with_text

ALGORITHM = 4
"""Raise it when a code change changes what is chosen by the same settings (tests/test_golden.py)."""


def run(settings: SelectSettings) -> None:
    """Write the chosen rows, and print why the others are not among them; once, if nothing changed.

    Raises:
        InputError: a corpus is damaged, or is not what it should be; no row is chosen; there is
            something at ``out``; text would leave its corpus whose licence forbids that.
        SettingsError: a condition or a licence is none; ``delta`` or ``relative`` without a
            predictor.
        ModelError: the predictor cannot be loaded.
    """
    for name in ("delta", "relative"):
        if getattr(settings, name) is not None and settings.predictor is None:
            raise SettingsError(
                f"select.{name} needs a predictor",
                remedy="name one with --predictor, or leave it out",
            )
    corpora = [find_shards(place) for place in settings.places]
    labelled = features_of_draw(settings.like) if settings.like is not None else []
    made_of = _made_of(settings, corpora, labelled)
    if _is_there(settings.out, made_of):
        say(f"{settings.out}: already there and current")
        return
    claim = Claim(settings.out, "select", _inputs(settings))
    claim.check()
    for warning in filter(None, map(lost_trees, corpora)):
        warn(warning)
    given = _read(settings, labelled)
    corpora = [sound(shards) for shards in corpora]
    if not settings.own_use:
        spelt = {canonical(each) for each in settings.license}
        require_home(settings.out, corpora, lambda each: not spelt or permits(each, spelt))
    for shards in corpora:
        require_valid(shards, distinct=False)
    total = sum(row_count(path) for shards in corpora for path in shards.accepted)
    with (
        appearing(claim) as folder,
        Meter("select, rows looked at", total * (1 + given.looks + settings.samples)) as meter,
    ):
        choice = choose(corpora, settings, given, folder, meter.advance)
        meter.finish()  # rows that one condition left out were not looked at for the next
        _show(choice, settings)
        if not choice.kept:
            raise _nothing(settings, choice)
        manifest = _write(folder, corpora, settings, choice, made_of)
    rows = manifest["rows"]
    say(f"written: {settings.out}: {rows['train']:,} candidates and {rows['rejected']:,} rejects")


def _inputs(settings: SelectSettings) -> list[Path]:
    """The files and folders that are named beside ``out``."""
    named = (settings.predictor, settings.like, *settings.agree)
    return [*settings.places, *(each for each in named if each is not None)]


def _read(settings: SelectSettings, labelled: Sequence[Features]) -> Inputs:
    """What the settings name beside the rows, read first: nobody waits for what is not there."""
    conditions, held_out = conditions_of(settings), None
    if settings.apart:
        held_out = HeldOut.read(settings.places[0], settings.corpus, settings.apart)
    if settings.predictor is None and not settings.agree:
        return Inputs(held_out=held_out, labelled=labelled, conditions=conditions)
    from pipeline.select.judging import loaded  # noqa: PLC0415 - torch takes seconds

    return Inputs(
        loaded(settings.predictor) if settings.predictor is not None else None,
        [loaded(each) for each in settings.agree],
        held_out,
        labelled,
        conditions,
    )


def _made_of(
    settings: SelectSettings, corpora: Sequence[Shards], labelled: Sequence[Features]
) -> Fingerprint:
    """All that decides which rows are chosen, by the content of each file that is named."""
    files = [[sha256_of(path) for path in (*each.accepted, *each.rejects)] for each in corpora]
    inputs: dict[str, Any] = {"rows": digest_of(files)}
    if settings.like is not None:
        inputs["like"] = digest_of(labelled)
    if settings.apart:
        sentences = held_out_corpus(settings.places[0], settings.corpus) / SENTENCES_FILE
        # whoever reads them says what is wrong
        inputs["apart"] = sha256_of(sentences) if sentences.is_file() else None
    if settings.predictor is not None:
        inputs["predictor"] = _model(settings.predictor)
    if settings.agree:
        inputs["agree"] = [_model(each) for each in settings.agree]
    apart = {"places", "out", "own_use", "corpus", "like", "predictor", "agree"}
    # These came later: unused they change no selection made before.
    apart |= {"relative", "whole_sentences"} & settings.usual()
    packages = ["duckdb", "pyarrow"]
    if settings.predictor is not None or settings.agree:
        packages += ["torch", "transformers"]
    return Fingerprint(
        settings=settings.model_dump(mode="json", exclude=apart),
        inputs=inputs,
        algorithm=ALGORITHM,
        versions=versions_of(*packages),
    )


def _model(folder: Path) -> str | None:
    return identity(str(folder)) if folder.is_dir() else None  # whoever loads it says what is wrong


def _is_there(out: Path, made_of: Fingerprint) -> bool:
    """Whether the very selection lies in the folder, whole."""
    try:
        manifest = read_manifest(out) if out.is_dir() else None
        shards = find_shards(out) if manifest else None
    except InputError:
        return False
    selection = (manifest or {}).get("selection") or {}
    if shards is None or selection.get("fingerprint") != made_of.digest:
        return False
    facts = {each["file"]: each["sha256"] for each in (manifest or {})["shards"]}
    beside = selection.get("beside") or {}
    there = [*shards.accepted, *shards.rejects, *(out / name for name in beside)]
    return facts | beside == {path.name: sha256_of(path) for path in there if path.is_file()}


def _nothing(settings: SelectSettings, choice: Choice) -> InputError:
    """Why nothing is chosen: a label that no row has, or more than any row meets."""
    what, remedy = (
        "no candidate is chosen",
        "ask for less: the table says what the rows were left out for",
    )
    if settings.label and choice.labels.isdisjoint(settings.label):
        there = sorted(choice.labels)
        asked = settings.label[0]
        like = nearest(asked, there)
        named = ", ".join(each[:40] for each in there[:_NAMED])
        what += f": none has the label {asked[:40]!r}{like and f', {like}'}"
        remedy = f"labels there are {named}{', …' * (len(there) > _NAMED)}" if there else remedy
    return InputError(what, path=settings.out, remedy=remedy)


_NAMED = 30  # labels that a message names


def _show(choice: Choice, settings: SelectSettings) -> None:
    counts = choice.counts()
    refused = [(reason, count) for reason, count in counts.items() if count]
    table("select: candidates", ("outcome", "count"), [("kept", choice.kept), *refused])
    if gone := sum(choice.dropped["train"].values()):
        say(f"{gone:,} of these are in no file: equal to an earlier row, or kept out by a licence")
    if choice.sample:
        _show_sample(choice.sample, words=settings.sample == "random-tokens")
    if not len(choice.rejects):
        return
    outcomes = [
        ("taken over", int(np.count_nonzero(choice.rejects))),
        *choice.dropped["rejected"].items(),
    ]
    table("rejects that were there", ("outcome", "count"), outcomes)


def _show_sample(sample: SampleForm, *, words: bool) -> None:
    say(f"drawn: {sample['rows']:,} rows of {sample['words']:,} words")
    if sample["words" if words else "rows"] < sample["wanted"]:
        kind = "words" if words else "rows"
        warn(f"{sample['wanted']:,} {kind} were asked for, and no more can be drawn")
    if "distance" in sample:
        far = sample["distance"]
        say(
            f"total-variation distance to the draw by {', '.join(sample['by'])}: "
            f"{far['before']:.3f} before, {far['after']:.3f} after"
        )


def _write(
    folder: Path,
    corpora: Sequence[Shards],
    settings: SelectSettings,
    choice: Choice,
    made_of: Fingerprint,
) -> CandidatesManifest:
    """Write candidates, rejects, manifest and card; returns the manifest."""
    runs, counts = united_runs(corpora), Survey()
    kept = {"train": choice.verdicts == 0, "rejected": choice.rejects}
    gathering = GatheredRows(corpora, kept, again="select again")
    rejected = chain(gathering.rows("rejected"), _left_out(corpora, choice))
    parts = {
        "train": (gathering.rows("train"), choice.kept),
        "rejected": (
            rejected,
            int(np.count_nonzero(choice.rejects) + np.count_nonzero(choice.left_out)),
        ),
    }
    written = {
        config: write_kind(folder, config, counts.counted(map(with_text, rows), config), number)
        for config, (rows, number) in parts.items()
    }
    asked = folder / PROBABILITIES_FILE
    selection: SelectionForm = {
        "command": settings.shown_command(settings.usual() - {"places"}),
        "algorithm": ALGORITHM,
        "fingerprint": made_of.digest,
        "made_of": dict(made_of.inputs),
        "inputs": gathering.inputs(),
        "left_out": choice.counts(),
    }
    if choice.sample:
        selection["sample"] = choice.sample
    if asked.is_file():
        selection["beside"] = {asked.name: sha256_of(asked)}
    manifest: CandidatesManifest = {
        **manifest_facts(corpora, runs, written, counts, _asked(settings)),
        **_history(corpora),
        "selection": selection,
        "dropped": dropped_so_far(corpora, choice.dropped),
    }
    write_json(folder / MANIFEST, manifest)
    write_card(folder, "Chosen by", manifest["rows"], manifest["digests"], selection["command"])
    return manifest


def _asked(settings: SelectSettings) -> Annotation:
    """What people had annotated for those who chose: the predictors, and the draw that rows are like."""
    predictors = [*settings.agree, *filter(None, [settings.predictor])]
    parts = [part for each in predictors for part in annotation_of_predictor(each)]
    if settings.like is not None:
        parts += annotation_of_like(settings.like)
    return joined(parts)


def _left_out(corpora: Sequence[Shards], choice: Choice) -> Iterator[pa.RecordBatch]:
    """The candidates that were left out, as rejects with the reason."""
    reasons, begin = pa.array(choice.reasons, pa.string()), 0
    places = np.flatnonzero(choice.left_out)
    for batch in kept_rows(corpora, choice.left_out):
        own = reasons.take(pa.array(choice.verdicts[places[begin : begin + len(batch)]]))
        begin += len(batch)
        yield pa.RecordBatch.from_arrays([*batch.columns, own], schema=RELEASED_REJECTS)


def _history(corpora: Sequence[Shards]) -> CandidatesHistory:
    """What the manifests of the inputs say of selections, and that of a single one of a merger."""
    manifest = corpora[0].manifest or {}
    history = selections(corpora)
    if len(corpora) == 1 and "merged" in manifest:
        history["merged"] = manifest["merged"]
    return history

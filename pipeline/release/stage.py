"""``conjoin release``: writes a finished corpus of candidates as a dataset repository for others to use.

Of a finished run it writes the predictor as a model repository: ``predictors/``.
"""

from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from pipeline.core.claims import Claim, appearing, mark_of
from pipeline.core.console import Meter, say, table, warn
from pipeline.core.corpus_folder import SENTENCES_FILE, inputs_in, require_coordination
from pipeline.core.errors import InputError, SettingsError
from pipeline.corpus.checked import require_whole
from pipeline.corpus.counts import Survey
from pipeline.corpus.handing_on import require_permission
from pipeline.corpus.layout import Shards, find_shards
from pipeline.corpus.licences import UNKNOWN, excludes_itself, terms
from pipeline.corpus.origin import facts, find_corpus, foreign_rows, sentences_of, trees_used
from pipeline.corpus.rows import generations, lost_trees
from pipeline.corpus.sentence_trees import TREEBANK
from pipeline.corpus.statistics import summarise
from pipeline.corpus.validity.checks import require_valid
from pipeline.corpus.writing import require_known_columns
from pipeline.release.candidate_trees import PARSER, CandidateTrees
from pipeline.release.card import write_documents
from pipeline.release.kinds.known import kind_of
from pipeline.release.kinds.stage import release_kind
from pipeline.release.package import (
    copy_provenance,
    earlier_release,
    write_checksums,
    write_release,
)
from pipeline.release.predictors.package import CARD, RUN_CARD, is_predictor_release
from pipeline.release.settings import ReleaseSettings
from pipeline.release.survey import declared, survey, without_the_text

ALGORITHM = 1
"""Raise it when a code change changes the rows made from the same inputs (tests/test_golden.py)."""


def run(settings: ReleaseSettings) -> None:
    """Write the release into ``settings.out``, whole or not at all.

    Raises:
        InputError: there are no candidates, they are damaged, not all there or not valid, or
            their licence does not permit it; for ``trees``: none has one; for ``stand_off``: their source
            is not at hand; ``out`` is something else than a release.
        SettingsError: ``license`` is none that conjoin knows.
    """
    if (folder := _run_folder(settings)) is not None:
        # It needs the tasks' models, and so torch.
        from pipeline.release.predictors.stage import release_predictor  # noqa: PLC0415

        if settings.license is not None:
            _require_known(settings.license)
        release_predictor(settings, folder)
        return
    shards = _input(settings)
    kind = kind_of(shards)
    if kind is None:
        for place in settings.named_places():
            require_coordination(place, settings.stage)
    claim = Claim(settings.out, "release", _named(settings), earlier_release)
    claim.check()
    require_whole(shards)
    if not settings.trees and (warning := lost_trees(shards)):
        warn(warning)
    found = survey(shards)
    if not found.rows["train"]:
        raise InputError(
            "no usable candidates here, only rejects", path=shards.place,
            remedy="generate from more sentences",
        )  # fmt: skip
    licenses = _licenses(settings, found)
    if kind is not None:
        _print(settings, *release_kind(kind, settings, shards, found, claim))
        return
    if not settings.stand_off:
        require_permission(licenses, shards.place, remedy=without_the_text)
        for expression in filter(excludes_itself, licenses):
            warn(
                f"{licenses[expression]:,} rows join text under {expression}, and one text cannot be under "
                "all of these: whether they may be handed on is for you to find out; leave them out with "
                "`conjoin select --license`"
            )
    corpus = _source(settings, shards)
    used = trees_used(generations(shards).values())
    sources = [facts(corpus, used)] if corpus else (shards.manifest or {}).get("sources", [])
    source = sentences_of(corpus) if corpus and settings.stand_off else None
    require_known_columns(shards)
    require_valid(shards, distinct=True)
    with appearing(claim) as folder, ExitStack() as opened:
        with Meter("rows, each read and written", 2 * found.rows.total()) as meter:
            trees = None
            if settings.trees and corpus:
                made = CandidateTrees(
                    corpus, settings.trees_of, generations(shards), note=meter.note
                )
                trees = opened.enter_context(made)
            manifest, released = write_release(
                folder, shards, found, settings, sources,
                source=source, trees=trees, advance=meter.advance,
            )  # fmt: skip
        if settings.trees:
            _require_trees(manifest["trees"], shards.place)
        copy_provenance(folder, Path(), settings.candidates, *([corpus] if corpus else []))
        write_documents(folder, manifest, summarise(find_shards(folder), corpus))
        write_checksums(folder)
    _print(settings, manifest, released)


def _named(settings: ReleaseSettings) -> list[Path]:
    """What the release is made of, as far as it is named."""
    return [settings.candidates, *(inputs_in(settings.corpus) if settings.corpus else ())]


def _run_folder(settings: ReleaseSettings) -> Path | None:
    """The folder of the run that is to be released; None: it is no run."""
    place = settings.candidates
    if is_predictor_release(place):
        raise InputError(
            "this is a release of a predictor already",
            path=place,
            remedy="send it with `conjoin push`",
        )
    if (place / RUN_CARD).is_file() or (place / "predictor" / CARD).is_file():
        return place
    if (place / CARD).is_file():  # the predictor of a run itself
        return place.resolve().parent
    if mark_of(place, "train") is not None:
        raise InputError(
            "training has not finished here", path=place, remedy="run `conjoin train` to its end"
        )
    return None


def _require_known(licence: str) -> None:
    if not terms(licence).known:
        raise SettingsError(
            f"release.license = {licence!r}: {terms(licence).why}",
            remedy="name it as https://spdx.org/licenses does, such as CC-BY-4.0",
        )


def _input(settings: ReleaseSettings) -> Shards:
    shards = find_shards(settings.candidates)
    if shards.kind == "file":
        raise InputError(
            "one file does not say who made its rows and what was refused", path=shards.place,
            remedy="name the folder of candidates that it is from",
        )  # fmt: skip
    if shards.kind == "stand-off":
        raise InputError(
            "this is a stand-off release, without the text", path=shards.place,
            remedy="rebuild it with `conjoin rehydrate`, or hand on the folder as it is",
        )  # fmt: skip
    return shards


def _licenses(settings: ReleaseSettings, found: Survey) -> dict[str, int]:
    """Rows by licence, with the declared one where they say unknown."""
    if settings.license is not None:
        _require_known(settings.license)
    if settings.license is not None and UNKNOWN not in found.licenses:
        say(f"--license {settings.license} changes nothing: no row says {UNKNOWN} alone")
    return declared(found.licenses, settings.license)


def _source(settings: ReleaseSettings, shards: Shards) -> Path | None:
    """The corpus folder of the source, if it is at hand and the rows are of it."""
    corpus = find_corpus(settings.candidates, settings.corpus)
    if corpus is None:
        if settings.stand_off or settings.trees:
            flag = "--stand-off" if settings.stand_off else "--trees"
            raise InputError(
                f"{flag} needs the source, and no folder above has a {SENTENCES_FILE}",
                path=shards.place, remedy="name its corpus folder with --corpus",
            )  # fmt: skip
        return None
    count, first = foreign_rows(shards, corpus)
    if count and (settings.stand_off or settings.trees or settings.corpus):
        raise InputError(
            f"{count:,} rows are of sentences that this corpus does not have", path=corpus,
            sentence_id=first, remedy="name the corpus they were made from with --corpus",
        )  # fmt: skip
    if count:
        say(f"{count:,} rows are not of {corpus.name} (first: {first}): the source is left unnamed")
        return None
    return corpus


def _require_trees(trees: Any, place: Path) -> None:
    """Refuse a release whose card would describe trees that not one candidate has.

    Raises:
        InputError: so it is.
    """
    without = trees["without"]
    if without and not any(trees[whose] for whose in (TREEBANK, PARSER)):
        why = ", ".join(f"{reason} ({count:,})" for reason, count in without.items())
        raise InputError(
            f"not one candidate has a tree of --trees-of {trees['of']}: {why}", path=place,
            remedy="run `conjoin preparse` again where its trees are gone, or leave --trees out",
        )  # fmt: skip


def _print(settings: ReleaseSettings, manifest: Mapping[str, Any], released: Survey) -> None:
    rows, shards = manifest["rows"], manifest["shards"]
    table(
        f"{manifest['name']} {manifest['version']} in {settings.out}",
        ("configuration", "rows", "shards", "MB", "row digest"),
        [
            (config, rows[config], len(own), f"{sum(s['bytes'] for s in own) / 1e6:.1f}",
             manifest["digests"][config])
            for config in rows
            for own in [[s for s in shards if s["config"] == config]]
        ],
    )  # fmt: skip
    if released.reasons:
        refused = sorted(released.reasons.items(), key=lambda item: (-item[1], item[0]))
        table("Rejected", ("reason", "rows"), refused)
    if of_trees := manifest.get("trees"):
        trees = {name: count for name, count in of_trees.items() if name != "without"}
        without = {f"none: {why}": count for why, count in of_trees["without"].items()}
        table("Trees", ("whose", "rows"), list((trees | without).items()))
    table("Licences", ("licence", "rows"), list(manifest["licenses"].items()))
    if settings.stand_off:
        withheld = [
            (why, config, rows)
            for config, reasons in manifest["withheld"].items()
            for why, rows in reasons.items()
        ]
        if withheld:
            table(
                "Withheld from this stand-off release",
                ("reason", "configuration", "rows"),
                withheld,
            )
        say(
            "Stand-off: no word of the source but the connectives. All rows were rebuilt and compared."
            if "task" in manifest
            else "Stand-off: no source sentence of four or more words, and no four words in a row of a row's "
            "own; single words may be shared. All rows were rebuilt from the source and compared."
        )

"""``conjoin gap``: artificial ellipsis, sentences of a treebank with the verb of the last clause left out."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pyarrow as pa

from pipeline import __version__
from pipeline.core.claims import Claim, appearing
from pipeline.core.console import Meter, say, table, warn
from pipeline.core.errors import InputError
from pipeline.core.files import FileFacts, sha256_of, write_json, write_text
from pipeline.core.markdown import code, plain
from pipeline.core.parquet import MANIFEST, write_rows
from pipeline.core.tally import Tally
from pipeline.core.words import is_without_control
from pipeline.corpus.licences import UNKNOWN
from pipeline.ellipsis.gap.leaving_out import Unfit, left_out
from pipeline.ellipsis.gap.rules import GappedVerb, Refused, find_gaps
from pipeline.ellipsis.gap.settings import GapSettings
from pipeline.ellipsis.gap.treebank import (
    SentenceOrigin,
    origin_of,
    require_universal,
    treebank_files,
)
from pipeline.text.conllu import LONGEST
from pipeline.text.dependencies import DependencyTree, read_trees, why_unwritten
from pipeline.text.lines import open_lines
from pipeline.text.unpacking import UnpackingAllowance

ALGORITHM = 2
"""Raise it when a code change changes the sentences made of the same treebank and settings."""

TREES_FILE, ROWS_FILE, REJECTS_FILE = "gapped.conllu", "gapped.parquet", "rejects.parquet"

TWICE = "a sentence that was made already"
TOO_LONG = f"a sentence of more than {LONGEST:,} characters in CoNLL-U"

_TEXT, _NUMBER, _FLAG = pa.string(), pa.int32(), pa.bool_()


def _schema(**kinds: pa.DataType) -> pa.Schema:
    return pa.schema([pa.field(name, kind, nullable=False) for name, kind in kinds.items()])


GAPPED = _schema(
    sentence_id=_TEXT,
    source_id=_TEXT,
    kind=_TEXT,
    tier=_NUMBER,
    parallel=_FLAG,
    contrast=_FLAG,
    first_lemma=_TEXT,
    verb_lemma=_TEXT,
    first=_NUMBER,
    verb=_NUMBER,
    promoted=_NUMBER,
    orphans=pa.list_(pa.field("element", _NUMBER, nullable=False)),
    text=_TEXT,
    conllu=_TEXT,
    license=_TEXT,
)
"""Sentences that were made. Words are numbered from 1, as in CoNLL-U: ``promoted`` and ``orphans`` in the new
sentence, ``first`` and ``verb`` in the source's."""

REFUSED = _schema(source_id=_TEXT, first=_NUMBER, verb=_NUMBER, reason=_TEXT, license=_TEXT)
"""Coordinated verbs that stay, by their numbers in the source sentence."""


@dataclass
class _Made:
    """What came of a treebank."""

    tally: Tally = field(default_factory=Tally)
    rows: list[dict[str, Any]] = field(default_factory=list)
    rejects: list[dict[str, Any]] = field(default_factory=list)
    texts: set[str] = field(default_factory=set)
    files: list[dict[str, Any]] = field(default_factory=list)
    ids: set[str] = field(default_factory=set)  # of all source sentences


def run(settings: GapSettings) -> None:
    """Write the sentences that can be made of a treebank, and why the other verbs stay.

    Raises:
        InputError: no CoNLL-U of Universal Dependencies, a sentence that is no tree, nothing to make, or
            ``out`` is taken.
    """
    files = treebank_files(settings.source)
    origin = origin_of(files, settings.license)
    with appearing(Claim(settings.out, "gap", [settings.source])) as folder:
        made = _make(settings, files, origin)
        _write(folder, settings, made, origin)
    if origin.license == UNKNOWN:
        warn("nobody has named the treebank's licence: name it with --license")
    say(f"written: {settings.out / TREES_FILE}: {len(made.rows):,} sentences")


def _make(settings: GapSettings, files: Sequence[Path], origin: SentenceOrigin) -> _Made:
    """What can be made of the treebank's files."""
    made = _Made()
    allowance = UnpackingAllowance(settings.largest_unpacked)
    with Meter("gap, bytes", sum(path.stat().st_size for path in files)) as meter:
        done = 0
        for path in files:
            before = len(made.rows)
            sentences = 0
            with open_lines(path, allowance=allowance) as lines:
                for number, tree in enumerate(read_trees(lines), 1):
                    require_universal(tree, path)
                    source_id = _identify(made, tree, path, number, settings.source)
                    made.ids.add(source_id)
                    _add(made, tree, source_id, settings, origin)
                    sentences = number
                    meter.at(done + lines.position)
            done += path.stat().st_size
            made.files.append(
                {"file": path.name, "sha256": sha256_of(path), "sentences": sentences,
                 "made": len(made.rows) - before}
            )  # fmt: skip
    if not any(each["sentences"] for each in made.files):
        raise InputError("no sentence here", path=settings.source, remedy="is it CoNLL-U?")
    if not made.tally.seen:
        raise InputError(
            "no verb is coordinated with another, so none can be left out", path=settings.source,
            remedy="name a treebank with more sentences",
        )  # fmt: skip
    _show(made)
    if not made.rows:
        raise InputError(
            "no verb can be left out", path=settings.source,
            remedy="the table says why",
        )  # fmt: skip
    return made


def _identify(made: _Made, tree: DependencyTree, path: Path, number: int, source: Path) -> str:
    """A sentence's id: its ``sent_id`` if no other has it, and it can be shown; else its file and number."""
    if tree.name and tree.name not in made.ids and is_without_control(tree.name):
        return tree.name
    file = path.name if path == source else path.relative_to(source).as_posix()
    return f"{re.sub(_ENDING, '', file)}/{number}"


_ENDING = re.compile(r"\.conllu(\.gz|\.xz)?$", re.IGNORECASE)


def _add(
    made: _Made, tree: DependencyTree, source_id: str, settings: GapSettings, origin: SentenceOrigin
) -> None:
    """Make what can be made of a sentence: one of each verb that may be left out."""
    unwritten = why_unwritten(tree)
    for found in find_gaps(tree, settings.kinds):
        reason = found.reason if isinstance(found, Refused) else _refusal(found, settings)
        reason = unwritten or reason
        if not reason and isinstance(found, GappedVerb):
            try:
                shorter = left_out(tree, found)
                row = _row(tree, shorter, found, source_id, origin)
                if shorter.text in made.texts:
                    reason = TWICE
                elif len(row["conllu"]) > LONGEST:  # its comments have the text once more
                    reason = TOO_LONG
                else:
                    made.texts.add(shorter.text)
                    made.rows.append(row)
                    made.tally.keep()
                    continue
            except Unfit as unfit:
                reason = str(unfit)
        made.tally.refuse(reason)
        made.rejects.append(
            {"source_id": source_id, "first": found.first, "verb": found.verb, "reason": reason,
             "license": origin.license}
        )  # fmt: skip


def _refusal(gap: GappedVerb, settings: GapSettings) -> str:
    """Why a gap is not one of those that are asked for; empty if it is."""
    for wanted, there, reason in (
        (settings.tier is not None, gap.tier == settings.tier, "another tier than asked for"),
        (settings.parallel, gap.parallel, "not parallel"),
        (settings.contrast, gap.contrast, "a personal pronoun would stay as object"),
    ):
        if wanted and not there:
            return reason
    return ""


def _row(
    tree: DependencyTree,
    shorter: DependencyTree,
    gap: GappedVerb,
    source_id: str,
    origin: SentenceOrigin,
) -> dict[str, Any]:
    new = {word.number: n for n, word in enumerate(_staying(tree, gap), 1)}
    first, verb = tree.word(gap.first).lemma, tree.word(gap.verb).lemma
    sentence_id, text = f"{source_id}-gap{gap.verb}", shorter.text
    meaning = "the same verb" if gap.tier == 1 else "another verb, so another meaning"
    comments = (
        f"# sent_id = {sentence_id}",
        f"# text = {text}",
        f"# source_sent_id = {source_id}",
        f"# gap = {gap.kind}",
        f"# gap_tier = {gap.tier}: {meaning}",
        f"# gap_verbs = {first} > {verb}",
        f"# license = {origin.license}",
    )
    return {
        "sentence_id": sentence_id, "source_id": source_id, "kind": gap.kind, "tier": gap.tier,
        "parallel": gap.parallel, "contrast": gap.contrast, "first_lemma": first, "verb_lemma": verb,
        "first": gap.first, "verb": gap.verb, "promoted": new[gap.promoted],
        "orphans": [new[number] for number in gap.orphans], "text": text,
        "conllu": "\n".join(replace(shorter, comments=comments).rows) + "\n\n",
        "license": origin.license,
    }  # fmt: skip


def _staying(tree: DependencyTree, gap: GappedVerb) -> Iterator[Any]:
    return (word for word in tree.words if word.number not in gap.gone)


def _show(made: _Made) -> None:
    table("gap: coordinated verbs", ("outcome", "count"), made.tally.rows())
    counts = Counter((row["kind"], row["tier"]) for row in made.rows)
    rows = [
        (kind, counts[kind, 1], counts[kind, 2], counts[kind, 1] + counts[kind, 2])
        for kind in sorted({kind for kind, _ in counts})
    ]
    if rows:
        table(
            "sentences made; tier 1: the same verb is left out, tier 2: another one",
            ("kind", "tier 1", "tier 2", "both"),
            rows,
        )


def _write(folder: Path, settings: GapSettings, made: _Made, origin: SentenceOrigin) -> None:
    write_text(folder / TREES_FILE, "".join(row["conllu"] for row in made.rows))
    write_rows(folder / ROWS_FILE, GAPPED, made.rows)
    write_rows(folder / REJECTS_FILE, REFUSED, made.rejects)
    counts = {
        TREES_FILE: len(made.rows),
        ROWS_FILE: len(made.rows),
        REJECTS_FILE: len(made.rejects),
    }
    for name, text in origin.texts:
        (folder / name).write_bytes(text)
    by_tier = Counter(f"{row['kind']}, tier {row['tier']}" for row in made.rows)
    facts = {name: FileFacts.of(folder / name, rows) for name, rows in counts.items()}
    manifest = {
        "conjoin": __version__,
        "command": settings.shown_command(settings.usual() | {"out"}),
        "algorithm": ALGORITHM,
        "sources": made.files,
        "license": origin.license,
        "notice": {
            "source": origin.notice.source,
            "url": origin.notice.url,
            "attribution": origin.notice.attribution,
        },
        "tally": made.tally.to_dict(),
        "made": dict(sorted(by_tier.items())),
        "files": {
            name: {"rows": each.rows, "bytes": each.bytes, "sha256": each.sha256}
            for name, each in facts.items()
        },
    }
    write_json(folder / MANIFEST, manifest)
    write_text(folder / "README.md", _card(settings, origin, [name for name, _ in origin.texts]))


def _card(settings: GapSettings, origin: SentenceOrigin, texts: Sequence[str]) -> str:
    notice = origin.notice
    where = f" ({notice.url})" if notice.url else ""
    beside = f" Its text: {', '.join(map(code, texts))}." if texts else ""
    lines = [
        "# Artificial ellipsis",
        f"Sentences of {plain(notice.source)}{where}, from which conjoin left out a coordinated verb: "
        f"{code(settings.shown_command(settings.usual() | {'out'}))}.",
        f"Licence: {plain(origin.license)}.{beside}"
        + f" {plain(notice.attribution)}" * bool(notice.attribution),
        f"{code(TREES_FILE)} has the trees, {code(ROWS_FILE)} the same a row each, {code(REJECTS_FILE)} the "
        f"coordinated verbs that stay, with the reason; {code(MANIFEST)} the counts. Sentences of tier 2 say "
        "what nobody has said: their structure is right, their meaning is not the source's.",
    ]
    return "\n\n".join(lines) + "\n"

"""``conjoin agree``: raw text that two parsers read alike, as more training trees for one of them."""

from collections.abc import Iterator
from fractions import Fraction
from itertools import chain, compress, zip_longest
from pathlib import Path
from typing import Any

from pipeline import __version__
from pipeline.core.claims import Claim, appearing
from pipeline.core.console import Meter, say, table, warn
from pipeline.core.errors import InputError
from pipeline.core.files import FileFacts, sha256_of, write_json, write_text
from pipeline.core.parquet import MANIFEST
from pipeline.core.tally import Tally
from pipeline.ellipsis.agree.drawing import DrawnSentences, Shape, draw
from pipeline.ellipsis.agree.settings import AgreeSettings
from pipeline.ellipsis.gap.treebank import treebank_files
from pipeline.text.dependencies import DependencyTree, TreebankWord, read_trees, why_unwritten
from pipeline.text.lines import open_lines
from pipeline.text.unpacking import UnpackingAllowance

ALGORITHM = 2  # 2: held-out sentences are known by their characters
"""Raise it when a code change changes what is kept of the same files by the same settings."""

TREES_FILE = "agreed.conllu"

OTHER_TAGS, OTHER_TREE = "other tags", "other heads or relations"
HELD_OUT, AGAIN, NO_ORPHAN = "words of a held-out sentence", "words said already", "no orphan"
NOT_DRAWN = "not drawn"


def run(settings: AgreeSettings) -> None:
    """Write the sentences with equal trees, all of them or a draw, and count the others.

    Raises:
        InputError: a file is no CoNLL-U, a sentence of it is no tree, the two are not of the same
            sentences, nothing is kept, or ``out`` is taken.
    """
    for path in (settings.one, settings.other):
        if path == Path("-"):
            raise InputError("standard input cannot be read here", remedy="name two files")
    named = [settings.one, settings.other, *settings.apart]
    if settings.like:
        named.append(settings.like)
    with appearing(Claim(settings.out, "agree", named)) as folder:
        kept = _keep(settings, folder)
    words = sum(len(tree.words) for tree in kept)
    say(f"written: {settings.out / TREES_FILE}: {len(kept):,} sentences of {words:,} words")


def _keep(settings: AgreeSettings, folder: Path) -> list[DependencyTree]:
    """Write the sentences that are kept; returns them."""
    allowance = UnpackingAllowance(settings.largest_unpacked)
    if settings.one.exists() and settings.other.exists() and settings.one.samefile(settings.other):
        raise InputError(
            "one file is named twice, and agrees with itself everywhere", path=settings.other,
            remedy="name the trees of two parsers",
        )  # fmt: skip
    held_out = set[str]()
    for place in settings.apart:
        found = [
            tree.characters for path in treebank_files(place) for tree in _read(path, allowance)
        ]
        if not found:
            raise InputError("no sentence here", path=place, remedy="is it CoNLL-U?")
        held_out.update(found)
    treebank: list[Shape] = []
    for path in treebank_files(settings.like) if settings.like else ():
        for tree in _read(path, allowance):
            treebank.append(Shape.of(tree))
            held_out.add(tree.characters)
    if settings.like and not treebank:
        raise InputError("no sentence here", path=settings.like, remedy="name a treebank")
    tally = Tally()
    kept = list(_agreed(settings, held_out, tally, allowance))
    drawn = None
    if treebank and kept:
        drawn = draw(
            [Shape.of(tree) for tree in kept], [" ".join(tree.forms) for tree in kept], treebank,
            wanted=_wanted(settings.size, len(treebank)), sample=settings.sample, seed=settings.seed,
        )  # fmt: skip
        kept = list(compress(kept, drawn.taken.tolist()))
        tally.refuse(NOT_DRAWN, tally.kept - len(kept))
        tally.kept = len(kept)
    if not tally.seen:
        raise InputError("no sentence here", path=settings.one, remedy="is it CoNLL-U?")
    table("agree: sentences", ("outcome", "count"), tally.rows())
    if not kept:
        raise InputError("no sentence is kept", path=settings.one, remedy="the table says why")
    if drawn:
        _show(drawn)
    _write(folder, settings, kept, tally, drawn)
    return kept


def _read(path: Path, allowance: UnpackingAllowance) -> Iterator[DependencyTree]:
    with open_lines(path, allowance=allowance) as lines:
        yield from read_trees(lines)


def _agreed(
    settings: AgreeSettings, held_out: set[str], tally: Tally, allowance: UnpackingAllowance
) -> Iterator[DependencyTree]:
    """Yield the sentences that are equal in both files, each once."""
    said: set[tuple[str, ...]] = set()
    for one, other in _pairs(settings, allowance):
        forms = one.forms
        if reason := why_unwritten(one):
            tally.refuse(reason)
        elif _tags(one, settings.tags) != _tags(other, settings.tags):
            tally.refuse(OTHER_TAGS)
        elif any(map(_differ, one.words, other.words)):
            tally.refuse(OTHER_TREE)
        elif settings.orphans and all(word.relation != "orphan" for word in one.words):
            tally.refuse(NO_ORPHAN)
        elif one.characters in held_out:
            tally.refuse(HELD_OUT)
        elif forms in said:
            tally.refuse(AGAIN)
        else:
            said.add(forms)
            tally.keep()
            yield one


def _pairs(
    settings: AgreeSettings, allowance: UnpackingAllowance
) -> Iterator[tuple[DependencyTree, DependencyTree]]:
    """The sentences of both files, which must be the same ones in the same order.

    Raises:
        InputError: they are not.
    """
    remedy = "parse the same sentences, cut into the same words, with both parsers"
    with (
        open_lines(settings.one, allowance=allowance) as lines,
        open_lines(settings.other, allowance=allowance) as others,
        Meter("agree, bytes", lines.size or 0) as meter,
    ):
        for one, other in zip_longest(read_trees(lines), read_trees(others)):
            if one is None or other is None:
                short, long = (settings.one, settings.other) if one is None else (
                    settings.other, settings.one
                )  # fmt: skip
                more = other if one is None else one
                raise InputError(
                    f"{short.name} ends before this sentence", path=str(long), line=more.line,
                    sentence_id=more.name and more.name[:100], remedy=remedy,
                )  # fmt: skip
            if one.forms != other.forms:
                pairs = zip_longest(one.forms, other.forms, fillvalue="")
                right, found = next(pair for pair in pairs if pair[0] != pair[1])
                raise InputError(
                    f"another sentence than at {settings.one.name}:{one.line}: {found[:40]!r} where it "
                    f"has {right[:40]!r}", path=str(settings.other), line=other.line,
                    sentence_id=other.name and other.name[:100], remedy=remedy,
                )  # fmt: skip
            yield one, other
            if lines.size:
                meter.at(lines.position)


def _tags(tree: DependencyTree, wanted: str) -> list[tuple[str, ...]]:
    return [
        (word.upos,) * (wanted in ("upos", "both")) + (word.xpos,) * (wanted in ("xpos", "both"))
        for word in tree.words
    ]


def _differ(one: TreebankWord, other: TreebankWord) -> bool:
    return (one.head, one.deprel) != (other.head, other.deprel)


def _wanted(size: str | None, sentences: int) -> int:
    """How many sentences a size asks for; of a share at least one."""
    if size is not None and not size.endswith("%"):
        return int(size)
    share = Fraction((size or "100%").removesuffix("%")) / 100
    return max(1, sentences * share.numerator // share.denominator)


def _show(drawn: DrawnSentences) -> None:
    summary = drawn.summary
    say(
        f"drawn ({summary['sample']}): {summary['sentences']:,} sentences of {summary['words']:,} words"
    )
    if summary["sample"] == "identical" and summary["sentences"] < summary["wanted"]:
        warn(f"{summary['wanted']:,} sentences were asked for, and no more can be drawn")
    far = summary["distance"]
    say(
        "total-variation distance to the treebank by length and complexity: "
        f"{far['before']:.3f} before, {far['after']:.3f} after"
    )


def _write(
    folder: Path,
    settings: AgreeSettings,
    kept: list[DependencyTree],
    tally: Tally,
    drawn: DrawnSentences | None,
) -> None:
    lines = chain.from_iterable([*tree.rows, ""] for tree in kept)
    write_text(folder / TREES_FILE, "".join(f"{line}\n" for line in lines))
    facts = FileFacts.of(folder / TREES_FILE, len(kept))
    files = [("one", settings.one), ("other", settings.other)]
    files += [("like", path) for path in treebank_files(settings.like)] if settings.like else []
    files += [("apart", path) for place in settings.apart for path in treebank_files(place)]
    manifest: dict[str, Any] = {
        "conjoin": __version__,
        "command": settings.shown_command(settings.usual() | {"out"}),
        "algorithm": ALGORITHM,
        "sources": [
            {"as": name, "file": path.name, "sha256": sha256_of(path)} for name, path in files
        ],
        "tally": tally.to_dict(),
        "files": {TREES_FILE: {"rows": facts.rows, "bytes": facts.bytes, "sha256": facts.sha256}},
        **({"draw": drawn.summary} if drawn else {}),
    }
    write_json(folder / MANIFEST, manifest)

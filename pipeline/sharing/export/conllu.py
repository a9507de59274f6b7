"""CoNLL-U with the coordinations in MISC, and with dependencies where the corpus has them.

Where it was read from brackets it has none: converters from those to Universal Dependencies are Java
(Stanford's) or wrap it. A HEAD of ``_`` would be read as a root by spaCy and stop others, so every sentence
has a tree that says nothing: its first word is the root, all others hang on it as ``dep``. A comment says so.
"""

from collections.abc import Iterator

from pipeline.core.decisions import to_ask
from pipeline.core.types import COLUMNS
from pipeline.sharing.export.protocol import Item, Unwritable, donors_of, is_value, require_plain
from pipeline.sharing.export.text_file import TextFile
from pipeline.text.conllu import JOINS_NOTHING, with_comments, with_coordinations
from pipeline.text.dependencies import rows_of

_NUMBERS = [each.name for each in COLUMNS if each.kind in {"float32", "int32"} and each.null]
"""Columns that a comment has: the coordinator stands in MISC."""

NO_HEADS = "no dependencies: all words hang on the first, which says nothing of the sentence"


def conllu(item: Item) -> str:
    """A sentence in CoNLL-U with each structure in MISC of its coordinator.

    ``Coord=3-7`` are the IDs of the structure's first and last word, as ``conjoin predict`` writes
    them; beside it stand the conjuncts and the label. In a sentence without structures its coordinators have
    ``Coord=none``. XPOS has the tags that are known.

    Raises:
        Unwritable: a word has a tab, a line end or nothing but spaces; the label cannot be a value; the
            sentence has no dependency tree, though others have one.
    """
    if item.no_heads:
        raise Unwritable(item.no_heads)
    if not all(is_value(each.label) for each in item.structures):
        raise Unwritable("a label that CoNLL-U cannot have")
    require_plain(item.words, "\t\n\r", "a word with a tab or line end, or without characters")
    lines = rows_of(item.heads).split("\n") if item.heads else _headless(item)
    marks = {
        each.coordinator: {
            "Coord": f"{each.start + 1}-{each.end}",
            "CoordConjuncts": ",".join(f"{s.start + 1}-{s.end}" for s in each.conjuncts),
            "CoordLabel": each.label,
        }
        for each in item.structures
    }
    if not marks:
        # Else nothing would tell it from a sentence of which nobody has said anything.
        marks = {k: {"Coord": JOINS_NOTHING} for k in to_ask(item.words)}
    lines = with_coordinations(lines, marks)
    for name, *texts in _comments(item):
        lines = with_comments(lines, name, [" ".join(text.split()) for text in texts])
    return "\n".join(lines) + "\n\n"


def _headless(item: Item) -> list[str]:
    """Lines whose heads say nothing."""
    tags = item.tags or ["_"] * len(item.words)
    return [
        f"{number}\t{word}\t_\t_\t{tag}\t_\t{'0	root' if number == 1 else '1	dep'}\t_\t_"
        for number, (word, tag) in enumerate(zip(item.words, tags, strict=True), 1)
    ]


def _comments(item: Item) -> Iterator[tuple[str, ...]]:
    """A name and its texts, each of which becomes a line."""
    row = item.columns
    yield "sent_id", item.name
    yield "text", item.heads.text if item.heads else " ".join(item.words)
    if item.heads is None:
        yield "heads", NO_HEADS
    if "candidate_id" in row:
        yield "source_sentence", row["sentence_id"]
    if donors := donors_of(item):
        yield "donor_sentence", *(donor["sentence_id"] for donor in donors)
        yield "donor_words", *(f"{d['span'][0] + 1}-{d['span'][1]}" for d in donors)
    if row.get("gap"):
        yield "gap_before_word", str(row["gap"]["at"] + 1)
    for name in _NUMBERS:
        if row.get(name) is not None:
            yield name, repr(row[name])
    yield "license", item.license
    if "generation" in row:
        yield "generation", row["generation"]


CONLLU = TextFile(
    conllu, ("# sent_id = ",), dependencies=True, caution=f"CoNLL-U here has {NO_HEADS}"
)

"""PTB.ext brackets, annotated as by Ficler & Goldberg: flat but for the coordinations."""

from collections.abc import Iterator, Sequence

from pipeline.core.types import Coordination, Span
from pipeline.sharing.export.protocol import Item, Unwritable
from pipeline.sharing.export.ptb import require_held
from pipeline.sharing.export.text_file import TextFile
from pipeline.text.coordinations import UNTAGGED
from pipeline.text.trees import base_label


def ptb_ext(item: Item) -> str:
    """A tree on one line, annotated as in PTB.ext; all but the structures is flat, under tags ``XX``.

    Raises:
        Unwritable: a word cannot be a leaf, the label cannot be one of PTB.ext, or structures cross.
    """
    for each in item.structures:
        if not each.label.isalpha() or base_label(each.label) != each.label:
            raise Unwritable("a label that PTB.ext cannot have")
    leaves = [_leaf(word) for word in item.words]
    parts = _parts(leaves, Span(0, len(leaves)), item.structures)
    return f"(S1 {' '.join(parts)})\n"


def _parts(
    leaves: Sequence[str], span: Span, structures: Sequence[Coordination], coordinator: int = -1
) -> Iterator[str]:
    """The words of a span with the structures in them, which stand in each other or apart."""
    at = span.start
    outer = [s for s in structures if not any(_inside(s, o) for o in structures)]
    for structure in sorted(outer, key=lambda s: s.start):
        if structure.start < at:
            raise Unwritable("structures that cross")
        yield from _flat(leaves, at, structure.start, coordinator)
        inner = [s for s in structures if _inside(s, structure)]
        yield f"({structure.label}-CCP {' '.join(_structure(leaves, structure, inner))})"
        at = structure.end
    yield from _flat(leaves, at, span.end, coordinator)


def _structure(
    leaves: Sequence[str], structure: Coordination, inner: Sequence[Coordination]
) -> Iterator[str]:
    at, left = structure.start, list(inner)
    for span in structure.conjuncts:
        own = [s for s in left if span.start <= s.start and s.end <= span.end]
        between = [s for s in left if at <= s.start and s.end <= span.start]
        left = [s for s in left if s not in own and s not in between]
        yield from _parts(leaves, Span(at, span.start), between, structure.coordinator)
        yield f"({structure.label}-COORD {' '.join(_parts(leaves, span, own))})"
        at = span.end
    if left:
        raise Unwritable("structures that cross")


def _inside(one: Coordination, other: Coordination) -> bool:
    return one is not other and other.start <= one.start and one.end <= other.end


def _flat(leaves: Sequence[str], start: int, end: int, coordinator: int) -> Iterator[str]:
    for place in range(start, end):
        yield f"({'CC-CC' if place == coordinator else UNTAGGED} {leaves[place]})"


def _leaf(word: str) -> str:
    leaf = word
    for plain, escaped in _ESCAPES:
        leaf = leaf.replace(plain, escaped)
    require_held(leaf, word)
    return leaf


_ESCAPES = (
    ("(", "-LRB-"), (")", "-RRB-"), ("[", "-LSB-"), ("]", "-RSB-"), ("{", "-LCB-"), ("}", "-RCB-"),
    ("/", "\\/"), ("*", "\\*"),
)  # fmt: skip
"""As in the treebank, and as ``text.trees.unescape`` takes them back."""

PTB_EXT = TextFile(ptb_ext, ("(S1 (",))

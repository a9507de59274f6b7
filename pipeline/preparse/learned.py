"""What is printed of the annotation that trees rest on: sentences, coordinations, and those of draws."""

from collections import Counter
from collections.abc import Sequence

from pipeline.core import console
from pipeline.core.annotation import LABELLED, OTHERS, UNKNOWN, VALIDATION, Part

_KINDS = {LABELLED: "labelled", VALIDATION: "validation", OTHERS: "other"}
_USES = {"learned": "learned from", "chosen": "choose the epoch"}


def show_learned(annotation: Sequence[Part]) -> None:
    """Print a line for each set of sentences, and how many of them each draw has.

    Args:
        annotation: of the trees, which their parser learned from or, where they are the treebank's, are.
    """
    among: dict[str, Counter[str]] = {}
    rows: list[tuple[str, str, int, int]] = []
    for part in annotation:
        among.setdefault(part.corpus, Counter()).update(part.among)
        if part.part == UNKNOWN:
            console.say(f"nothing says which sentences {part.corpus} learned from")
            continue
        draw = f" of the draw {part.draw}" if part.draw else ""
        what = f"{_KINDS[part.part]} sentences of {part.corpus}{draw}"
        rows.append((what, _USES[part.use], part.sentences, part.coordinations))
    if rows:
        columns = ("gold trees", "use", "sentences", "coordinations")
        console.table("What these trees rest on", columns, rows)
    for corpus, draws in sorted(among.items()):
        if draws:
            counts = ", ".join(f"{draw}: {count:,}" for draw, count in sorted(draws.items()))
            console.say(
                f"labelled or validation sentences of a draw of {corpus} among them: {counts}"
            )

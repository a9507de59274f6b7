"""What is wrong with a corpus: every violation counted by kind, the first few of each kept to show."""

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

_WIDTH = 160  # characters of a hostile text that are shown


@dataclass(frozen=True, slots=True)
class Violation:
    """One violation.

    Attributes:
        file: relative to the corpus.
        row: in that file, from 0; None if it is about the file.
        candidate_id: of the row, if it has one that can be read.
        what: what is wrong, in one line of printable characters.
    """

    file: str
    row: int | None
    candidate_id: str | None
    what: str


class Violations:
    """Violations by kind.

    Args:
        examples: how many of a kind are kept.
    """

    def __init__(self, examples: int) -> None:
        self._most = examples
        self._counts: Counter[str] = Counter()
        self._examples: defaultdict[str, list[Violation]] = defaultdict(list)

    def __len__(self) -> int:
        return self._counts.total()

    def wanted(self, kind: str) -> int:
        """How many more examples of a kind would be kept."""
        return self._most - len(self._examples[kind])

    def add(self, kind: str, file: str, what: str, row: int | None = None) -> None:
        """Count one violation."""
        self.add_all(kind, 1, [Violation(printable(file), row, None, printable(what))])

    def add_all(self, kind: str, count: int, examples: Sequence[Violation]) -> None:
        """Count several of a kind, of which these may be shown."""
        self._counts[kind] += count
        self._examples[kind] += examples[: self.wanted(kind)]

    def counts(self) -> dict[str, int]:
        """Violations by kind, most frequent first, ties in alphabetical order."""
        return dict(sorted(self._counts.items(), key=lambda item: (-item[1], item[0])))

    def examples(self, kind: str) -> list[Violation]:
        """The first violations of a kind."""
        return self._examples[kind]

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready: ``{kind: {"count": …, "examples": [{"file", "row", "candidate_id", "what"}]}}``."""
        return {
            kind: {"count": count, "examples": [asdict(each) for each in self.examples(kind)]}
            for kind, count in self.counts().items()
        }


def printable(text: str) -> str:
    """Text that neither breaks the line nor commands the terminal, cut to a line's length."""
    cut = text if len(text) <= _WIDTH else text[: _WIDTH - 1] + "…"
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in cut)

"""What ``preparse`` writes of the trees that it made."""

from typing import NotRequired

from typing_extensions import TypedDict

from pipeline.core.cards.parser import ParserTraining
from pipeline.core.cards.parts import CountOf, PartForm, TallyForm
from pipeline.core.documents import Count, FileName


class TreesShard(TypedDict):
    """A file of trees, or of sentences without one."""

    file: FileName
    rows: Count
    bytes: NotRequired[Count]
    sha256: str


class TreesInputs(TypedDict):
    """Digests of what trees were made of."""

    sentences: str
    tagger: NotRequired[str]
    dependencies: NotRequired[str]


class TreesSettings(TypedDict, total=False):
    """Settings of preparse that say which sentences have trees: U, or the coordinated ones."""

    min_words: Count
    limit: Count | None
    coordinated: Count


class TreesManifest(TypedDict):
    """``manifest.json`` in a folder of trees, which ``preparse`` writes (``executor/units.py``).

    That of no sentences has no ``model``; earlier versions did not write ``annotation``.
    """

    shards: list[TreesShard]
    inputs: TreesInputs
    settings: NotRequired[TreesSettings]
    model: NotRequired[dict[str, str | None] | None]
    annotation: NotRequired[list[PartForm]]


class CoordinatedTally(TallyForm):
    """What became of the sentences with a coordinator, and how many were asked for."""

    asked: Count


class PreparseCard(TypedDict, total=False):
    """``preparse.json``, which ``preparse`` writes: what was parsed, and by whom.

    Earlier versions did not write ``annotation``.
    """

    parser: str | None
    unlabelled: TallyForm
    left_out: CountOf
    coordinated: CoordinatedTally | None
    training: ParserTraining | None
    min_words: Count
    annotation: list[PartForm]

"""``manifest.json`` of a folder of candidates, and of a release of them.

Either may come from anywhere, and commands take what they use from it without asking again, so what must
stand in it, and in what form, is checked where it is read. Of the runs behind rows that were united only what
some command needs is looked at.
"""

from typing import Annotated, Any, Literal, NotRequired

from pydantic import AfterValidator, Field
from typing_extensions import TypedDict

from pipeline.core.cards.parts import CountOf, FileOfRows, PartForm, Shard, TallyForm
from pipeline.core.documents import Count, Number
from pipeline.core.words import coordinator_list

Config = Literal["train", "rejected"]
"""What a manifest calls usable candidates, and rejects."""


class NamingSettings(TypedDict, total=False):
    """Settings of a run by which documents choose their words; the others are only shown."""

    lm: str | None
    fills: str
    spans: str | None
    decoding: str | None
    coordinator: str | None
    coordinators: str | None
    match: str


class CandidatesSettings(NamingSettings, total=False):
    """Settings of ``generate`` and ``harvest`` that are read by name."""

    trees: str | None
    sync: bool
    synchronize: str
    pool: Count
    ranking: str | None
    arity: str
    parser: str
    labelled: str | None
    tags: str
    parser_lm: str | None
    confused: str


def _confusion(cell: list[str | int]) -> list[str | int]:
    """Two senses and two counts.

    Raises:
        ValueError: it is something else.
    """
    if [type(value) for value in cell] != [str, str, int, int]:
        raise ValueError(f"{cell} is not a sense, another one, and two counts")
    return cell


class CandidatesInputs(TypedDict, total=False):
    """Those inputs of a run that are read by name.

    ``coordinators`` are the corpus's, the most frequent first; without them they are the usual ones.
    ``confusions`` are those that argument pairs were made of: the sense, what it is taken for, how often, and
    of how many validation pairs.
    """

    targets: str | None
    coordinators: Annotated[list[str], AfterValidator(coordinator_list)]
    confusions: list[Annotated[list[str | Count], AfterValidator(_confusion)]]


class GenerationRun(TypedDict, total=False):
    """A run behind rows that were united, as its own manifest had it."""

    settings: NamingSettings
    inputs: CandidatesInputs
    versions: dict[str, Any]
    tally: TallyForm
    notes: CountOf


class RowsByPart(TypedDict):
    """How many rows there are of candidates and of rejects."""

    train: Count
    rejected: Count


class DigestsByPart(TypedDict):
    """Row digests of candidates and of rejects."""

    train: str
    rejected: str


class UnitedCorpus(TypedDict):
    """A corpus whose rows were united, or chosen from: how many it had, and how many went on."""

    place: str
    kind: NotRequired[str]
    rows: CountOf
    kept: CountOf
    digests: NotRequired[dict[str, str]]


class TreesFacts(TypedDict):
    """Trees of a source, and their parser."""

    sha256: str
    parser: NotRequired[str | None]


class SourceFacts(TypedDict):
    """A corpus that sentences are from."""

    corpus: str
    reader: NotRequired[str | None]
    license: str
    sentences: NotRequired[CountOf]
    pairs: NotRequired[CountOf]
    sha256: str
    trees: NotRequired[TreesFacts | None]
    named_trees: NotRequired[dict[str, TreesFacts]]


class DistanceForm(TypedDict):
    """The total-variation distance to a draw of L, before rows were drawn and after."""

    before: Number
    after: Number


class SampleForm(TypedDict, total=False):
    """How rows were drawn; ``by`` and what follows where they were to be like a draw of L."""

    wanted: Count
    rows: Count
    words: Count
    by: list[str]
    edges: list[int]
    strata: Count
    distance: DistanceForm


class EarlierSelection(TypedDict):
    """A selection of rows that were united, or chosen from, since."""

    command: str


class SelectionForm(EarlierSelection):
    """How candidates were chosen, once for a folder."""

    inputs: list[UnitedCorpus]
    left_out: CountOf
    algorithm: NotRequired[int]
    fingerprint: NotRequired[str]
    made_of: NotRequired[dict[str, Any]]
    sample: NotRequired[SampleForm]
    beside: NotRequired[dict[str, str]]


class CandidatesHistory(TypedDict, total=False):
    """What became of rows before they came into a folder; earlier versions did not write ``annotation``."""

    annotation: list[PartForm]
    merged: list[UnitedCorpus]
    selection: SelectionForm | None
    selections: list[EarlierSelection]
    dropped: object
    withheld: dict[str, CountOf]


class CandidatesManifest(CandidatesHistory, total=False):
    """``manifest.json`` of candidates.

    ``generate`` and ``harvest`` write what made the rows (``executor/units.py``), ``merge`` and ``select``
    the ``generations`` and ``sources`` behind them. ``digests`` are theirs, and so is ``rows``.
    """

    settings: CandidatesSettings
    inputs: CandidatesInputs
    versions: dict[str, Any]
    notes: CountOf
    fingerprint: str
    generations: dict[str, GenerationRun]
    sources: list[SourceFacts]
    rows: RowsByPart
    digests: DigestsByPart
    tally: TallyForm
    shards: Annotated[list[Shard], Field(min_length=1)]


class ReleasedShard(FileOfRows):
    """A file of a release."""

    digest: str
    config: Config


class ReleasedRun(GenerationRun):
    """A run behind rows of a release, and how many of them it made."""

    rows: RowsByPart


class ReleaseManifest(CandidatesHistory):
    """``manifest.json`` of a release, which ``release`` and ``rehydrate`` write.

    A stand-off one has ``full_digests``, of what ``rehydrate`` makes of it; ``trees`` is of one with trees,
    ``task`` of one of another task than coordination.
    """

    conjoin: str
    task: NotRequired[str]
    format: int
    name: str
    version: str
    authors: list[str]
    url: str | None
    license: str
    licenses: CountOf
    stand_off: bool
    rehydrated: NotRequired[bool]
    command: str
    seed: int
    rows: RowsByPart
    digests: DigestsByPart
    shards: Annotated[list[ReleasedShard], Field(min_length=1)]
    generations: dict[str, ReleasedRun]
    sources: list[SourceFacts]
    trees: NotRequired[object]
    full_digests: NotRequired[DigestsByPart]

"""What ``repro`` writes of the cells that it ran."""

from typing import NotRequired

from typing_extensions import TypedDict

from pipeline.core.documents import Count, Number


class Took(TypedDict):
    """What a cell took, and of what settings and how many runs; earlier versions kept less."""

    stage: str
    command: str
    seconds: Number
    cpu_seconds: NotRequired[Number]
    settings: NotRequired[str]
    named: NotRequired[str]
    runs: NotRequired[Count]


Times = dict[str, Took]
"""``times.json``, which ``repro`` writes beside the corpora: what each cell took when it last ran."""

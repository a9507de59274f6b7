"""The rankings of attested fills, by what ``--ranking`` calls them.

Another is a function in a module beside ``mean``, and a line here.
"""

from pipeline.core.errors import SettingsError
from pipeline.core.names import nearest
from pipeline.infill.rankings.ended import ended
from pipeline.infill.rankings.mean import mean
from pipeline.infill.rankings.protocol import Ranking
from pipeline.infill.rankings.rest import rest

RANKINGS: dict[str, Ranking] = {
    "mean": mean,
    "ended": ended,
    "rest": rest,
}


def ranking_called(name: str) -> Ranking:
    """The ranking of a name.

    Raises:
        SettingsError: there is none.
    """
    if name not in RANKINGS:
        raise SettingsError(
            f"there is no ranking {name!r}; there are: {', '.join(RANKINGS)}",
            remedy=nearest(name, RANKINGS) or "name one, or leave --ranking out",
        )
    return RANKINGS[name]

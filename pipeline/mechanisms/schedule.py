"""How long cells take in lanes, if each takes as long as said: ``lanes.run_cells`` without the work."""

from collections.abc import Mapping, Sequence
from heapq import heappop, heappush

from pipeline.mechanisms.cells import Cell

__all__ = ["makespan"]


def makespan(cells: Sequence[Cell], seconds: Mapping[str, float], jobs: int) -> float:
    """Wall seconds until all cells are done.

    Args:
        cells: earlier ones go first among those whose needs are done; needs that are not among them
            are taken for granted.
        seconds: cell → its seconds.
        jobs: lanes.
    """
    names = {cell.name for cell in cells}
    waiting, running = list(cells), list[tuple[float, str]]()
    done, now = set[str](), 0.0
    while waiting or running:
        ready = next((c for c in waiting if c.needs & names <= done), None)
        if ready and len(running) < jobs:
            waiting.remove(ready)
            heappush(running, (now + seconds[ready.name], ready.name))
            continue
        now, name = heappop(running)
        done.add(name)
    return now

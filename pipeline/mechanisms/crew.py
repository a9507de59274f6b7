"""A run over the units of a folder, by however many workers: what is to do, who does it, how it goes."""

import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from pipeline.ground.console import Meter, say
from pipeline.mechanisms.board import Board, State
from pipeline.mechanisms.units import UnitFolder
from pipeline.mechanisms.workers import Worker

__all__ = ["Make", "OnBatch", "Report", "run_units"]

OnBatch = Callable[[int, int, int], None]
"""Told after each batch how many items, tokens and rejects there were in it."""

Make = Callable[[int, OnBatch], None]

_SHOWN = 5  # units named one by one at the start


@dataclass(frozen=True, slots=True)
class Report:
    """What a run did: units made, items, tokens, seconds without start-up."""

    units: int
    items: int
    tokens: int
    seconds: float


def run_units(
    worker: Worker,
    folder: UnitFolder,
    sizes: Sequence[int],
    prepare: Callable[[], Make],
    *,
    what: str,
    items: str,
) -> Report | None:
    """Make every unit that is not finished, and then the manifest.

    Args:
        worker: this process.
        folder: the units.
        sizes: items of each unit.
        prepare: called if there is a unit to make; gives what makes one and writes it to ``folder``.
        what: the stage, for the display.
        items: what the items are called.

    Returns:
        What was done by all workers, to the first of them; None to the others.
    """
    with Board(worker) as board:
        todo = board.agree(lambda: _find(folder))
        make = prepare() if todo else None
        begun = time.monotonic()
        with Meter(what, sum(sizes[index] for index in todo)) as meter:
            if worker.rank == 0:
                board.watch = lambda: meter.at(_items(board), _note(board, items, begun))
            while make and (place := board.take(len(todo))) is not None:
                _make(board, todo, place, make)
            if worker.rank:
                return None
            while make and board.outstanding(len(todo)):
                for place in board.orphans(len(todo)):
                    say(f"unit {todo[place]} was lost with its worker; worker 0 makes it")
                    _make(board, todo, place, make)
                time.sleep(0.1)
            board.watch = lambda: None
            meter.at(sum(sizes[index] for index in todo), _note(board, items, begun))
        states = board.states()
    folder.write_manifest()
    return Report(
        len(todo),
        sum(state.items for state in states),
        sum(state.tokens for state in states),
        time.monotonic() - begun,
    )


def _make(board: Board, todo: Sequence[int], place: int, make: Make) -> None:
    def on_batch(items: int, tokens: int, rejects: int) -> None:
        board.state.items += items
        board.state.tokens += tokens
        board.state.rejects += rejects

    board.state.unit = place
    make(todo[place], on_batch)
    board.made(place)


def _find(folder: UnitFolder) -> list[int]:
    """The units to make; says what was there, and what is made again and why."""
    for name in folder.sweep()[:1]:
        say(f"removed the shards of another plan, {name} first")
    unmade = folder.unmade()
    current = folder.count - len(unmade)
    if current:
        say(f"{current} of {folder.count} units are finished and current")
    again = [each for each in unmade if each.kind != "missing"]
    for (kind, why), count in Counter((each.kind, each.why) for each in again).most_common(_SHOWN):
        first = next(each.index for each in again if (each.kind, each.why) == (kind, why))
        which = f"unit {first} is" if count == 1 else f"{count} units, {first} first, are"
        say(f"{which} {kind} and made again: {why}")
    return [each.index for each in unmade]


def _items(board: Board) -> int:
    return sum(state.items for state in board.states())


def _note(board: Board, items: str, begun: float) -> str:
    states = board.states()
    seconds = max(time.monotonic() - begun, 1e-9)
    done = sum(state.items for state in states)
    parts = [f"{done / seconds:,.0f} {items}/s"]
    if tokens := sum(state.tokens for state in states):
        parts.append(f"{tokens / seconds:,.0f} tokens/s")
    if done:
        parts.append(f"{sum(state.rejects for state in states) / done:.0%} rejected")
    if len(states) > 1:
        parts.append("workers " + " ".join(_health(board, r, s) for r, s in enumerate(states)))
    return "  ".join(parts)


def _health(board: Board, rank: int, state: State) -> str:
    silent = board.silence(rank)
    if state.ended:
        return f"{rank}: done"
    return f"{rank}: {state.items:,}" if silent < 10 else f"{rank}: silent {silent:.0f} s"

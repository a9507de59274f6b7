"""The course of a pretraining: what each look at held-out text found, and how it is told."""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from pipeline.ground.files import write_text

__all__ = ["Look", "look_table", "looks_of", "perplexity", "write_history"]

HISTORY = "history.jsonl"


@dataclass(frozen=True, slots=True)
class Look:
    """The state of a model after ``step`` updates.

    ``tokens`` counts those the model saw, padding and targets left out; ``loss`` is the mean over the
    updates since the last look and ``validation_loss`` that on held-out text (None without any), both
    in nats per predicted token; ``perplexity`` is its exponential. ``probe`` is what the fill probe
    read, None where there is nothing to probe.
    """

    step: int
    epoch: int
    tokens: int
    loss: float
    learning_rate: float
    validation_loss: float | None
    perplexity: float | None
    probe: Mapping[str, Any] | None

    def line(self, of: int) -> str:
        """One line for whoever watches."""
        parts = [
            f"step {self.step:,} of {of:,}",
            f"{self.tokens:,} tokens",
            f"loss {self.loss:.3f}",
        ]
        if self.perplexity is not None:
            parts.append(f"held-out perplexity {self.perplexity:.1f}")
        if self.probe is not None:
            shares = (f"{name} {self.probe[name]:.0%}" for name in _SHOWN)
            parts.append(f"fill probe: {', '.join(shares)}")
        return " · ".join(parts)


_SHOWN = ("recovered", "category", "length", "sense", "echo")


def perplexity(loss: float | None) -> float | None:
    """E to the loss, of a loss in nats per predicted token."""
    return None if loss is None else round(math.exp(min(loss, 50.0)), 3)


def write_history(folder: Path, looks: Sequence[Look]) -> None:
    """``history.jsonl``: one JSON object per look."""
    write_text(folder / HISTORY, "".join(f"{json.dumps(asdict(look))}\n" for look in looks))


def look_table(looks: Sequence[Look]) -> pa.Table:
    """Looks as the rows of a checkpoint."""
    return pa.table({"look": pa.array([json.dumps(asdict(look)) for look in looks], pa.string())})


def looks_of(rows: pa.Table) -> list[Look]:
    """The looks in a checkpoint's rows."""
    found: list[dict[str, Any]] = [json.loads(row) for row in rows["look"].to_pylist()]
    return [Look(**each) for each in found]

"""What generation costs by arithmetic, what the machine can do, and where the time goes."""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import wraps
from typing import Any

import torch

from benchmarks.generation.generation_pairs import Shape
from benchmarks.generation.generation_sides import AUTHORS_BATCH
from pipeline.infill import stepwise, t5_decoder
from pipeline.infill.forcing import Trie

__all__ = [
    "attested_flops_of",
    "bandwidth",
    "clock",
    "encoder_flops_of",
    "flops_of",
    "padded_flops_of",
    "peak",
    "stopwatch",
    "traffic_of",
]


def clock(device: str) -> float:
    """Seconds: CPU time, which others at work on the machine hardly change; on a GPU wall time."""
    if device == "cuda":
        torch.cuda.synchronize()
        return time.perf_counter()
    return time.process_time()


def peak(dtype: torch.dtype, device: str) -> float:
    """FLOP/s of a matrix product: the best of several sizes and rounds."""
    best = 0.0
    for size in (1024, 2048) if device == "cpu" else (8192,):
        one, two = (torch.randn(size, size, device=device).to(dtype) for _ in range(2))
        for _ in range(6):
            start = clock(device)
            torch.mm(one, two)
            best = max(best, 2 * size**3 / (clock(device) - start))
    return best


def bandwidth(device: str) -> float:
    """Bytes per second that a sum over a large tensor reads."""
    block = torch.ones(1 << (27 if device == "cpu" else 31), dtype=torch.int8, device=device)
    data, best = block.view(torch.float32), 0.0
    for _ in range(6):
        start = clock(device)
        data.sum()
        best = max(best, len(block) / (clock(device) - start))
    return best


def _encoder(shape: Shape, length: int) -> float:
    """FLOPs of one sequence."""
    matrices = 4 * shape.width * shape.inner + (2 + shape.gated) * shape.width * shape.feed
    return 2.0 * shape.layers * length * (matrices + 2 * length * shape.inner)


def _memory(shape: Shape, length: int) -> float:
    """FLOPs of the cross-attention's keys and values of one sequence."""
    return 2.0 * shape.layers * length * 2 * shape.width * shape.inner


def _steps(shape: Shape, length: int, steps: int) -> float:
    """FLOPs of writing so many tokens, without the output layer."""
    matrices = 6 * shape.width * shape.inner + (2 + shape.gated) * shape.width * shape.feed
    attended = steps * length + steps * (steps + 1) / 2
    return 2.0 * shape.layers * (steps * matrices + 2 * attended * shape.inner)


def _head(shape: Shape, places: int) -> float:
    return 2.0 * places * shape.width * shape.vocabulary


def flops_of(shape: Shape, sources: Sequence[Any], beams: int) -> float:
    """FLOPs of the work as such: no padding, no step after the last, beams that share a prompt."""
    if shape.kind == "bert":
        square = shape.width * shape.width
        needed: float = sum(
            _encoder(shape, len(s.ids)) + _head(shape, 2 * s.count) + 4.0 * s.count * square
            for s in sources
        )
        return needed
    total = 0.0
    for source in sources:
        steps = source.limits.longest
        for ids in source.inputs:
            total += _encoder(shape, len(ids)) + _memory(shape, len(ids))
            # The prompt's two positions and the first choice are the same for all beams.
            first, rest = _steps(shape, len(ids), 2), _steps(shape, len(ids), steps + 1)
            total += first + beams * (rest - first)
            total += _head(shape, 1 + beams * (steps - 1))
    return total


def attested_flops_of(
    shape: Shape, sources: Sequence[Any], options: Sequence[Sequence[Sequence[int]]]
) -> float:
    """FLOPs of scoring given fills: what several begin with once, the end of each included.

    Args:
        shape: the model.
        sources: its inputs, as of ``flops_of``.
        options: tokens of the options of each.
    """
    if shape.kind == "bert":
        return flops_of(shape, sources, 1)
    total = 0.0
    for source, own in zip(sources, options, strict=True):
        trie = Trie.of(own)
        for ids in source.inputs:
            total += _encoder(shape, len(ids)) + _memory(shape, len(ids)) + _head(shape, len(trie))
            matrices = 6 * shape.width * shape.inner + (2 + shape.gated) * shape.width * shape.feed
            nodes = len(trie) + 1
            attended = nodes * (len(ids) + nodes)
            total += 2.0 * shape.layers * (nodes * matrices + 2 * attended * shape.inner)
    return total


def encoder_flops_of(shape: Shape, sources: Sequence[Any]) -> float:
    """FLOPs of a T5's encoder without padding."""
    return sum(_encoder(shape, len(ids)) for source in sources for ids in source.inputs)


def padded_flops_of(shape: Shape, sources: Sequence[Any], beams: int) -> float:
    """FLOPs of the authors' way, padding and steps after a row's last included."""
    total = 0.0
    for start in range(0, len(sources), AUTHORS_BATCH):
        batch = sources[start : start + AUTHORS_BATCH]
        if shape.kind == "bert":
            length = max(len(s.ids) for s in batch)
            each = _encoder(shape, length) + _head(shape, length)
            total += len(batch) * (each + 2.0 * length * shape.width**2)
            continue
        length = max(len(ids) for s in batch for ids in s.inputs)
        steps = max(s.limits.longest for s in batch) + 1
        each = _memory(shape, length) + _steps(shape, length, steps) + _head(shape, steps)
        total += 2 * len(batch) * (_encoder(shape, length) + beams * each)
    return total


def traffic_of(shape: Shape, sources: Sequence[Any], beams: int, batches: Sequence[Any]) -> float:
    """Bytes, at two per number, that the decoder's steps must read: weights and caches."""
    matrices = 6 * shape.width * shape.inner + (2 + shape.gated) * shape.width * shape.feed
    weights = shape.layers * matrices + shape.width * shape.vocabulary
    total = 0.0
    for batch in batches:
        total += 2.0 * weights * max(sources[i].limits.longest for i in batch)
        for i in batch:
            steps = sources[i].limits.longest
            for ids in sources[i].inputs:
                slots = beams * steps * (steps + 1) / 2 + steps * len(ids)
                total += 2.0 * shape.layers * 2 * shape.inner * slots
    return total


_PARTS: list[tuple[str, Any, str]] = [
    ("encoder", t5_decoder, "_encode"),
    ("cross keys and values", t5_decoder, "_memory"),
    ("self-attention", t5_decoder.T5Lockstep, "_attend_self"),
    ("cross-attention", t5_decoder.T5Lockstep, "_attend_memory"),
    ("feed-forward", t5_decoder.Block, "feed"),
    ("output layer", t5_decoder.T5Lockstep, "logits"),
    ("choosing", stepwise.Chooser, "_of_block"),
    ("compaction", t5_decoder.T5Lockstep, "keep"),
    ("bookkeeping", t5_decoder.T5Lockstep, "start"),
]


@contextmanager
def stopwatch(device: str) -> Iterator[dict[str, float]]:
    """Seconds of each part of the T5 engine, while this lasts; what is inside another is apart."""
    spent: dict[str, float] = {}
    inner: list[float] = []

    def timed(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            inner.append(0.0)
            start = clock(device)
            try:
                return function(*args, **kwargs)
            finally:
                took = clock(device) - start
                own = took - inner.pop()
                # The encoder's feed-forward layers are the encoder's.
                at = "encoder" if name == "feed-forward" and "encoder" in open_parts else name
                spent[at] = spent.get(at, 0.0) + own
                if inner:
                    inner[-1] += took

        @wraps(function)
        def entered(*args: Any, **kwargs: Any) -> Any:
            open_parts.append(name)
            try:
                return call(*args, **kwargs)
            finally:
                open_parts.pop()

        return entered

    open_parts: list[str] = []
    before = [(owner, name, getattr(owner, name)) for _, owner, name in _PARTS]
    for (part, owner, name), (_, _, function) in zip(_PARTS, before, strict=True):
        setattr(owner, name, timed(part, function))
    start = clock(device)
    try:
        yield spent
        spent["bookkeeping"] = 0.0
        spent["bookkeeping"] = clock(device) - start - sum(spent.values())
    finally:
        for owner, name, function in before:
            setattr(owner, name, function)

"""The ``generate`` stage: trees of U in, shards of candidates and rejects out (§3)."""

import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
import transformers

from pipeline.ground.closure import code_digest
from pipeline.ground.console import Meter, say, table
from pipeline.ground.coordination import Candidate, Reject, Sentence
from pipeline.ground.errors import InputError, SettingsError
from pipeline.ground.files import digest_of, sha256_of
from pipeline.ground.schema import TREES, read_rows, read_sentences
from pipeline.ground.tally import Tally
from pipeline.ground.trees import Tree, leaves, parse_tree
from pipeline.mechanisms import workers
from pipeline.mechanisms.candidates import make_candidates
from pipeline.mechanisms.checkpoints import identity, locate
from pipeline.mechanisms.infill import Infiller, fill, load_infiller, task_of
from pipeline.mechanisms.shards import ShardSet, unit_indices
from pipeline.mechanisms.spans import Reference, draw_spans, read_given_spans
from pipeline.settings.generate import Generate

__all__ = ["CUT", "decode_unit", "run"]

CUT = "cut at three times the reference's length"
"""Fills that T5 did not end by itself: the paper's limit is kept (§3.2.2), but not in silence."""


def run(settings: Generate) -> None:
    """Make every missing or stale shard, in ``settings.processes`` processes.

    Raises:
        InputError: no trees, no reference spans, or another run writes to the output folder.
        SettingsError: a decoding that cannot give as many fills, or spans=given without a file.
        ModelError: the model lacks a mask token or sentinels.
    """
    out, task = settings.out or _default_out(settings), task_of(settings)
    if not (settings.corpus / "trees.parquet").is_file():
        raise InputError(
            "no such file",
            path=settings.corpus / "trees.parquet",
            remedy="run `conjoin preparse` first",
        )
    if settings.processes > 1 and not workers.in_launch():
        workers.launch(settings.command_line(), settings.processes, out)
    with workers.working(out, settings.threads) as worker:
        references, skipped = _plan(settings)
        name = settings.model or f"models/{settings.lm}"
        where = locate(name, settings.corpus, settings.seed)
        about = _about(settings, where, worker.device)
        units = unit_indices(len(references), settings.unit)
        shards = ShardSet(out, len(units), digest_of(about))
        if worker.rank == 0:
            _announce(shards)
        mine = range(worker.rank, len(units), worker.world)
        todo = [index for index in mine if not shards.is_current(index)]
        with Meter("generate", len(references)) as meter:
            done = _Progress(meter, shards, units, todo if worker.rank == 0 else None)
            if todo:
                infiller = load_infiller(
                    settings.lm,
                    where,
                    task,
                    dtype=getattr(torch, settings.dtype),
                    device=worker.device,
                )
                for index in todo:
                    unit = [references[i] for i in units[index]]
                    shards.write(index, *decode_unit(unit, infiller, settings, done.batch))
                    done.look()
            if worker.rank == 0:
                done.wait()
        if worker.rank == 0:
            tally = shards.write_manifest({**about, "sentences_without_reference": skipped})
            _summary(out, tally, shards.notes(), skipped)


def decode_unit(
    unit: Sequence[Reference],
    infiller: Infiller[Any],
    settings: Generate,
    on_batch: Callable[[int], None] = lambda _: None,
) -> tuple[list[Candidate | Reject], Counter[str]]:
    """The rows of one unit, in the order of its references, and counts of what they do not say.

    The batches are a pure function of the unit and the settings, so whoever decodes the unit gets
    the same floating-point sums.
    """
    fills = fill(infiller, unit, settings.batch_tokens, on_batch)
    rows = [
        row
        for reference, found in zip(unit, fills, strict=True)
        for row in make_candidates(reference, found, settings.coordinator)
    ]
    return rows, Counter({CUT: sum(each.cut for found in fills for each in found)})


def _default_out(settings: Generate) -> Path:
    kind = f"{settings.lm}-{'sync' if settings.sync else 'no-sync'}"
    if settings.decoding != "greedy":
        kind += f"-{settings.decoding}"
    return settings.corpus / "candidates" / kind / f"seed-{settings.seed}"


def _plan(settings: Generate) -> tuple[list[Reference], int]:
    """All references in the order of U, and how many sentences offered none."""
    trees = {
        row["sentence_id"]: row["tree"]
        for row in read_rows(settings.corpus / "trees.parquet", TREES)
    }
    if settings.limit:
        trees = dict(list(trees.items())[: settings.limit])
    sentences: dict[str, Sentence] = {
        sentence.sentence_id: sentence
        for sentence in read_sentences(
            settings.corpus / "sentences.parquet", lambda s: s.sentence_id in trees
        )
    }
    parsed = _parsed(settings.corpus / "trees.parquet", trees, sentences)
    if settings.spans == "given":
        if settings.given is None:
            raise SettingsError("generate.spans = 'given' needs --given FILE")
        return read_given_spans(settings.given, {s.sentence_id: s for s, _ in parsed}), 0
    references: list[Reference] = []
    skipped = 0
    for sentence, tree in parsed:
        drawn = draw_spans(
            sentence,
            tree=tree if settings.spans == "constituents" else None,
            references=settings.references,
            seed=settings.seed,
        )
        skipped += not drawn
        references += drawn
    if not references:
        raise InputError(
            "no sentence offers a reference span",
            path=settings.corpus / "trees.parquet",
            remedy="check what preparse printed",
        )
    return references, skipped


def _parsed(
    path: Path, trees: Mapping[str, str], sentences: Mapping[str, Sentence]
) -> Iterator[tuple[Sentence, Tree]]:
    """Sentences with their trees; those of another ingest would give other words, silently."""
    for sentence_id, bracketing in trees.items():
        sentence, tree = sentences.get(sentence_id), parse_tree(bracketing)
        if sentence is None or leaves(tree) != list(sentence.words):
            raise InputError(
                "a tree that is not of this sentence",
                path=path,
                sentence_id=sentence_id,
                remedy="run `conjoin preparse` again",
            )
        yield sentence, tree


def _about(settings: Generate, where: str, device: torch.device) -> dict[str, Any]:
    """Everything the rows depend on; its digest is the shards' fingerprint."""
    given = settings.given
    return {
        "settings": settings.model_dump(
            mode="json", exclude={"corpus", "processes", "out", "model", "given"}
        ),
        "model": identity(where),
        "inputs": {
            "trees": sha256_of(settings.corpus / "trees.parquet"),
            "sentences": sha256_of(settings.corpus / "sentences.parquet"),
            "given": sha256_of(given) if given else None,
        },
        "code": code_digest(__name__),
        "versions": {"torch": torch.__version__, "transformers": transformers.__version__},
        "device": torch.cuda.get_device_name(device) if device.type == "cuda" else "cpu",
    }


def _announce(shards: ShardSet) -> None:
    removed = shards.sweep()
    if removed:
        say(f"removed {len(removed)} files of another plan, e.g. {removed[0]}")
    current = shards.count - len(shards.missing())
    if current:
        say(f"{current} of {shards.count} shards are already there and current")


def _summary(out: Path, tally: Tally, notes: Mapping[str, int], skipped: int) -> None:
    table(f"candidates in {out}", ("outcome", "count"), tally.rows())
    for note, count in sorted(notes.items()):
        if count:
            say(f"{count:,} fills {note}")
    if skipped:
        say(f"{skipped:,} sentences offered no reference span")


class _Progress:
    """Pairs done by all processes, seen from rank 0: its own batches, the others' shards."""

    def __init__(
        self, meter: Meter, shards: ShardSet, units: Sequence[range], todo: Sequence[int] | None
    ) -> None:
        self._meter, self._shards, self._units = meter, shards, units
        self._silent = todo is None
        self._open = set(range(len(units))) - set(todo or ())
        self._own = 0
        self._others = 0

    def batch(self, pairs: int) -> None:
        self._own += pairs
        self._show()

    def look(self) -> None:
        """Count shards that other processes have finished since the last look."""
        if self._silent:
            return
        for index in sorted(self._open):
            if self._shards.is_current(index):
                self._open.discard(index)
                self._others += len(self._units[index])
        self._show()

    def _show(self) -> None:
        if not self._silent:
            self._meter.at(self._own + self._others)

    def wait(self) -> None:
        """Until every unit of every process is there; a dead worker ends us through its launcher."""
        self.look()
        while self._open:
            time.sleep(0.2)
            self.look()

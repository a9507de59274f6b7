# ruff: noqa: D102 - the protocol says what each is
"""A toy task, as a newcomer would add one: which animal does a sentence speak of?

Everything that is its own stands in this module; ``TASKS`` has a line for it.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import torch
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from pipeline.core.annotation import Annotation, Part
from pipeline.core.answered import AnsweredInstance
from pipeline.core.tally import Tally
from pipeline.models.loading import (
    length_limit,
    load_config,
    load_tokenizer,
    new_encoder,
)
from pipeline.models.optim import evaluating
from pipeline.models.roles import load_encoder
from pipeline.models.words import WordEncoding, represent
from pipeline.tasks.protocol import (
    Answer,
    Drawn,
    Evaluation,
    HeadSettings,
    JudgedRows,
    Learnable,
    Measured,
    Model,
    Opinion,
    Row,
    Task,
)

ANIMALS = ("cats", "dogs", "fish")


@dataclass(frozen=True, slots=True)
class Note:
    """A sentence and its animal."""

    sentence_id: str
    split: str
    words: tuple[str, ...]
    animal: int
    tags: None = None


@dataclass(frozen=True, slots=True)
class Marked:
    """The example of a note."""

    words: tuple[str, ...]
    animal: int
    variant: bool = False
    instances: int = 1

    @property
    def row(self) -> dict[str, int]:
        return {"animal": self.animal}

    def joined(self, others: Sequence[Self]) -> "Marked":
        return self


def read_notes(corpus: Path) -> dict[str, Note]:
    lines = (corpus / "notes.jsonl").read_text().splitlines()
    notes = [Note(**{**each, "words": tuple(each["words"])}) for each in map(json.loads, lines)]
    return {note.sentence_id: note for note in notes}


class Marker(Model[Marked]):
    """An encoder and a linear head on the mean of the words."""

    def __init__(self, encoder: nn.Module, tokenizer: Any) -> None:
        super().__init__()
        self.encoder = encoder
        self.linear = nn.Linear(encoder.config.hidden_size, len(ANIMALS))  # type: ignore[union-attr, arg-type]
        self.encoding = WordEncoding(tokenizer, length_limit(encoder.config, tokenizer))  # type: ignore[arg-type]

    @property
    def head(self) -> nn.Module:
        return self.linear

    @property
    def device(self) -> torch.device:
        return self.linear.weight.device

    def logits(self, examples: Sequence[Marked]) -> Tensor:
        encoded = self.encoding.encode([each.words for each in examples])
        h = represent(self.encoder, self.encoding, encoded, self.device)
        means = [row[: len(each.words)].mean(0) for row, each in zip(h, examples, strict=True)]
        return self.linear(torch.stack(means)).log_softmax(-1)

    def forward(self, examples: Sequence[Marked], weights: Sequence[float] | None = None) -> Tensor:
        right = torch.tensor([each.animal for each in examples])
        losses = -self.logits(examples).gather(1, right[:, None])[:, 0]
        return (losses * torch.tensor(weights or [1.0] * len(examples))).sum()

    def obstacles(self, examples: Sequence[Marked]) -> list[str | None]:
        fits = map(self.encoding.fits, self.encoding.encode([each.words for each in examples]))
        return [None if fit else "too long" for fit in fits]

    def _scores(self, examples: Sequence[Marked]) -> list[Tensor]:
        with evaluating(self), torch.inference_mode():
            return list(self.logits(examples))

    def opinions(self, examples: Sequence[Marked]) -> list[Opinion | None]:
        return [
            Opinion(
                float(row[e.animal].exp()),
                float((row[e.animal] - row.max()).exp()),
                int(row.argmax()) == e.animal,
            )
            for row, e in zip(self._scores(examples), examples, strict=True)
        ]

    def answers(self, examples: Sequence[Marked]) -> list[Answer[Marked] | None]:
        return [
            Answer(Marked(e.words, int(row.argmax())), float(row.max().exp()))
            for row, e in zip(self._scores(examples), examples, strict=True)
        ]

    def measure(self, examples: Sequence[Marked]) -> Measured:
        rows = self._scores(examples)
        said = [int(row.argmax()) for row in rows]
        counts = counted([e.animal for e in examples], said).sum(0)
        loss = -sum(float(row[e.animal]) for row, e in zip(rows, examples, strict=True))
        return Measured(tuple(tuple(each) for each in counts.tolist()), len(rows), loss)

    def save(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.encoder.config.save_pretrained(folder)  # type: ignore[union-attr, operator]
        self.encoding.tokenizer.save_pretrained(folder)
        save_file(dict(self.state_dict()), folder / "model.safetensors")


def counted(gold: Sequence[int], said: Sequence[int]) -> npt.NDArray[np.int64]:
    """Right, said and there of each instance by animal: macro-F1."""
    counts = np.zeros((len(gold), len(ANIMALS), 3), dtype=np.int64)
    for place, (one, other) in enumerate(zip(gold, said, strict=True)):
        counts[place, one, 2] += 1
        counts[place, other, 1] += 1
        counts[place, one, 0] += one == other
    return counts


class MarkedRows:
    """Candidates of notes."""

    columns = pa.schema(
        [
            ("candidate_id", pa.string()), ("sentence_id", pa.string()), ("words", pa.list_(pa.string())),
            ("animal", pa.int32()), ("label", pa.string()),
        ]
    )  # fmt: skip
    kept = pa.schema([field for field in columns if field.name != "sentence_id"])

    def check(self, batch: pa.RecordBatch, place: str, first: int) -> None:
        assert batch.num_rows

    def keys(self, batch: pa.RecordBatch) -> npt.NDArray[np.uint64]:
        return np.array([hash(str(row)) % 2**63 for row in batch.to_pylist()], dtype=np.uint64)

    def drawn(self, row: Mapping[str, Any]) -> Drawn[Marked]:
        example = Marked(tuple(row["words"]), row["animal"])
        return Drawn(row["candidate_id"], row["label"], len(row["words"]), 0, example)


class MarkingEvaluation(Evaluation[Note]):
    """Macro-F1."""

    schema = pa.schema([("sentence_id", pa.string()), ("said", pa.int32())])
    columns = ("overall",)

    def instances(self, corpus: Path, split: str, limit: int | None) -> list[Note]:
        return [note for note in read_notes(corpus).values() if note.split == split][:limit]

    def digest(self, instances: Sequence[Note]) -> str:
        return str([note.sentence_id for note in instances])

    def documents(self, instances: Sequence[Note]) -> list[str]:
        return [note.sentence_id for note in instances]

    def sizes(self, instances: Sequence[Note]) -> dict[str, int]:
        return {"overall": len(instances)}

    def rows(self, model: Marker, instances: Sequence[Note], batch_tokens: int) -> list[Row]:
        found = model.answers([Marked(note.words, note.animal) for note in instances])
        return [
            {"sentence_id": note.sentence_id, "said": each.example.animal if each else -1}
            for note, each in zip(instances, found, strict=True)
        ]

    def judged(self, instances: Sequence[Note], rows: Sequence[Row]) -> JudgedRows:
        counts = counted([note.animal for note in instances], [row["said"] for row in rows])
        right, said, there = counts.sum(0).T
        macro = float((2 * right / (said + there)).mean())
        return JudgedRows({"overall": macro}, {}, 0, counts)

    def shown(self, instance: Note) -> AnsweredInstance:
        right = ANIMALS[instance.animal]
        return AnsweredInstance(instance.sentence_id, " ".join(instance.words), right, "CC0-1.0")

    def said(self, instance: Note, row: Row) -> tuple[str, bool]:
        return ANIMALS[row["said"]], row["said"] == instance.animal


class MarkingTask(Task[Marked]):
    """See ``tasks.protocol.Task``."""

    name = "marking"
    options = frozenset[str]()
    augmentations = {}  # noqa: RUF012 - none of its own
    answer_columns = (pa.field("animal", pa.int32(), False),)
    rows = MarkedRows()
    evaluation = MarkingEvaluation()

    def draw(self, corpus: Path, seed: int, labelled: str) -> tuple[list[Note], list[Note]]:
        notes = read_notes(corpus)
        ids = json.loads((corpus / f"draws/seed-{seed}/{labelled}.json").read_text())
        return [notes[i] for i in ids["labelled"]], [notes[i] for i in ids["validation"]]

    def annotation(self, corpus: Path, seed: int, labelled: str) -> Annotation:
        return (
            Part(corpus=corpus.name, part="labelled", draw=f"{labelled}/seed-{seed}", sentences=30),
        )

    def examples(self, sources: Sequence[Note], model: Marker) -> Learnable[Marked]:
        found, tally = [Marked(note.words, note.animal) for note in sources], Tally()
        tally.keep(len(found))
        return Learnable(found, list(found), tally)

    def labels(self, source: Note) -> set[str]:
        return {ANIMALS[source.animal]}

    def protected(self, source: Note) -> frozenset[int]:
        return frozenset(i for i, word in enumerate(source.words) if word in ANIMALS)

    def create(self, where: str, settings: HeadSettings, seed: int) -> Marker:
        torch.manual_seed(seed)
        return Marker(*load_encoder(where))

    def load(self, folder: Path) -> Marker:
        made = Marker(new_encoder(load_config(str(folder))), load_tokenizer(str(folder)))
        made.load_state_dict(load_file(folder / "model.safetensors"))
        return made.eval()

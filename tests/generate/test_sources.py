"""Sources of candidates: the stage knows nothing but the protocol."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, ClassVar, get_args

import pytest
import torch

from pipeline.core.annotation import Annotation
from pipeline.core.candidates import candidate_shards
from pipeline.core.documents import read_json
from pipeline.core.schema import read_candidates
from pipeline.core.types import Candidate, Reject, Span, candidate_id
from pipeline.generate import sources
from pipeline.generate.settings import GenerateSettings
from pipeline.generate.stage import default_out, run
from pipeline.ingest.readers import PAIR_READERS, PREDICATE_READERS, QUESTION_READERS, READERS
from pipeline.ingest.settings import IngestSettings
from pipeline.sharing.export.formats import FORMATS
from pipeline.sharing.export.settings import ExportSettings
from pipeline.sources.protocol import CoordinationFiles
from pipeline.train.acceptance import RULES
from pipeline.train.settings import TrainSettings


class Counting(CoordinationFiles):
    """A source without model or trees: numbers that are coordinated with the next."""

    called = "numbers"
    gpus = False
    sizes: ClassVar[Sequence[int]] = (3, 3, 1)
    inert: ClassVar[set[str]] = {"beams"}
    notes: ClassVar[dict[str, int]] = {"numbers that nobody has": 5}

    def __init__(self, settings: GenerateSettings) -> None:
        self.word = settings.coordinator

    def inputs(self) -> dict[str, Any]:
        """No files are read."""
        return {}

    def model(self) -> None:
        """No model writes."""
        return

    def annotation(self) -> Annotation:
        """Nobody annotated anything."""
        return ()

    def items(self, unit: int) -> tuple[list[int], dict[str, int]]:
        """Consecutive numbers."""
        return list(range(3 * unit, 3 * unit + self.sizes[unit])), {"numbers skipped": unit}

    def prepare(self, device: torch.device) -> Callable[..., Any]:
        """Nothing is loaded."""

        def make(items: Sequence[int], on_batch: Callable[[int, int], None]) -> Any:
            on_batch(len(items), 0)
            return [self._row(n) for n in items], {"numbers": len(items)}

        return make

    def _row(self, n: int) -> Candidate | Reject:
        words, one, two = (str(n), self.word, str(n + 1)), Span(0, 1), Span(2, 3)
        content = candidate_id(f"s{n}", words, 1, one, (one, two))
        candidate = Candidate(
            content, f"s{n}", words, 1, (one, two), "NP", one, str(n + 1), None, None, None, "CC0-1.0"
        )  # fmt: skip
        return Reject(candidate, "odd") if n % 2 else candidate


def test_a_source_is_a_class_and_a_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Units, rows, rejects, notes, fingerprint and dry run of a source that is no infilling."""
    monkeypatch.setitem(sources.SOURCES, "free", Counting)
    out = tmp_path / "out"
    run(GenerateSettings(corpus=tmp_path, out=out, own_use=True, dry_run=True))
    printed = capsys.readouterr().out
    assert "3 to make of 3" in printed
    assert "5 numbers that nobody has" in printed
    assert not out.exists()
    run(GenerateSettings(corpus=tmp_path, out=out, own_use=True))
    manifest = read_json(out / "manifest.json")
    assert manifest["tally"] == {"kept": 4, "refused": {"odd": 3}, "seen": 7}
    assert manifest["notes"] == {
        "numbers": 7, "numbers skipped": 3, "numbers that nobody has": 5,
    }  # fmt: skip
    assert "beams" not in manifest["settings"]
    words = [c.words for shard in candidate_shards(out) for c in read_candidates(shard)]
    assert words == [(str(n), "and", str(n + 1)) for n in (0, 2, 4, 6)]


def test_a_source_is_chosen_and_has_its_own_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`fills` names the line of the registry; folders of the paper's source are named as ever."""
    monkeypatch.setitem(sources.SOURCES, "counting", Counting)
    free = GenerateSettings(corpus=tmp_path)
    counting = free.model_copy(update={"fills": "counting"})
    assert isinstance(sources.source_of(counting), Counting)
    assert default_out(free) == tmp_path / "candidates/t5-sync/seed-0"
    assert default_out(counting) == tmp_path / "candidates/counting-t5-sync/seed-0"


@pytest.mark.parametrize(
    ("settings", "field", "registry"),
    [
        (
            IngestSettings,
            "reader",
            {**READERS, **PAIR_READERS, **PREDICATE_READERS, **QUESTION_READERS},
        ),
        (GenerateSettings, "fills", sources.SOURCES),
        (TrainSettings, "accept", RULES),
        (ExportSettings, "format", FORMATS),
    ],
)
def test_choices_are_those_of_the_registry(settings: Any, field: str, registry: Any) -> None:
    """A reader, a source, an acceptance rule and an export format can be chosen, and no others."""
    assert sorted(get_args(settings.model_fields[field].annotation)) == sorted(registry)

"""What a run of Algorithm 1 reads: L and the validation set, which a draw names (§5.1), and U."""

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch

from pipeline.core.corpus_folder import SENTENCES_FILE, Draw, draw_file, require_ingested
from pipeline.core.documents import read_json
from pipeline.core.errors import InputError, SettingsError
from pipeline.core.files import digest_of
from pipeline.core.schema import read_sentences
from pipeline.core.tally import Tally
from pipeline.core.types import Sentence
from pipeline.models.loading import locate
from pipeline.predictor.encoding import Example
from pipeline.predictor.model import Predictor
from pipeline.train.learner import learnable
from pipeline.train.selection import SELECTIONS
from pipeline.train.settings import Train
from pipeline.train.stream import CandidateStream


@dataclass(frozen=True, slots=True)
class TrainData:
    """L, the validation set and U of a run.

    Attributes:
        size: sentences of the draw.
        learned: those of them that the predictor can learn from.
        measured: the validation sentences, with everything in them.
        candidates: U with what generation made of it; None for a baseline.
        uncovered: labels of L that no candidate has.
        excluded: what could not be scored of both sets, with the reasons.
    """

    size: int
    learned: list[Example]
    measured: list[Example]
    candidates: CandidateStream | None
    uncovered: list[str]
    excluded: dict[str, Tally]

    def about(self, *, scores: bool = False) -> dict[str, Any]:
        """Digests that tell it from other data; of candidates' ``scores`` only if they matter."""
        own = {"candidates' scores": self.candidates.scores} if scores and self.candidates else {}
        return {
            **own,
            "labelled sentences": digest_of([asdict(example) for example in self.learned]),
            "validation sentences": digest_of([asdict(example) for example in self.measured]),
            "candidates": self.candidates.digest if self.candidates else None,
        }


def fresh_predictor(settings: Train, seed: int, device: torch.device) -> Predictor:
    """A predictor with the run's pretrained encoder and a scorer of its own, drawn with ``seed``.

    Raises:
        ModelError: the encoder cannot be loaded.
    """
    return Predictor.create(
        locate(settings.encoder, settings.corpus, settings.seed),
        mlp_hidden=settings.mlp_hidden,
        dropout=settings.dropout,
        seed=seed,
        encoder_dropout=settings.encoder_dropout,
    ).to(device)


def read_data(settings: Train, predictor: Predictor) -> TrainData:
    """Read everything before training, so that errors in the data cost no hours.

    Raises:
        InputError: the draw, the sentences or the candidates are missing, empty or inconsistent.
        SettingsError: there are more judges than labelled sentences.
    """
    path = _draw_path(settings)
    labelled, validation = _read_draw(settings)
    learned, _, tally = learnable(labelled, predictor)
    _, measured, tally_validation = learnable(validation, predictor)
    if not learned:
        raise InputError("no labelled sentence can be learned from", path=path)
    if not measured:
        raise InputError("no coordination in the validation sentences", path=path)
    if SELECTIONS[settings.select].needs_loss and not tally_validation.kept:
        raise InputError(
            "no validation sentence can be scored, so there is no loss to choose the weights by",
            path=path, remedy="say another --select, or take an encoder that reads longer sentences",
        )  # fmt: skip
    if settings.judges > len(learned):
        raise SettingsError(f"judges must not exceed |L|, was {settings.judges} > {len(learned)}")
    candidates, uncovered = None, list[str]()
    if settings.mode != "baseline" and settings.candidates is not None:
        candidates = CandidateStream(settings.candidates, settings.seed, settings.labels)
        wanted = {c.label for s in labelled for c in s.coordinations if c.is_evaluable}
        uncovered = sorted(wanted - candidates.labels.keys())
    excluded = {"labelled": tally, "validation": tally_validation}
    return TrainData(len(labelled), learned, measured, candidates, uncovered, excluded)


def _draw_path(settings: Train) -> Path:
    return settings.corpus / draw_file(settings.seed, settings.labelled)


def _read_draw(settings: Train) -> tuple[list[Sentence], list[Sentence]]:
    """The sentences of L and of the validation set, in the order of the draw."""
    path = _draw_path(settings)
    require_ingested(settings.corpus, SENTENCES_FILE, draw_file(settings.seed, settings.labelled))
    draw = read_json(path, Draw, remedy=_remedy(settings))
    wanted = [draw["labelled"], draw["validation"]]
    ids = {sentence_id for part in wanted for sentence_id in part}
    for sentence_id in sorted(set(wanted[0]) & set(wanted[1])):
        raise InputError(
            "the draw has a validation sentence in L",
            path=path, sentence_id=sentence_id, remedy="run `conjoin ingest` again",
        )  # fmt: skip
    source = settings.corpus / SENTENCES_FILE
    found = {s.sentence_id: s for s in read_sentences(source, lambda s: s.sentence_id in ids)}
    for sentence_id in sorted(ids):
        if sentence_id not in found or found[sentence_id].split != "train":
            raise InputError(
                "the draw names a sentence that is not in the training split",
                path=path, sentence_id=sentence_id, remedy="run `conjoin ingest` again",
            )  # fmt: skip
        if fault := _fault(found[sentence_id]):
            raise InputError(
                f"the words disagree with the annotation: {fault}",
                path=source, sentence_id=sentence_id, remedy="mend the corpus and ingest it again",
            )  # fmt: skip
    labelled, validation = ([found[i] for i in part] for part in wanted)
    return labelled, validation


def _remedy(settings: Train) -> str:
    """What to do where a draw is missing: take one of the same seed that is there, or draw it."""
    again = f"run `conjoin ingest` with --labelled {settings.labelled} --seeds {settings.seed}"
    there = sorted(path.stem for path in _draw_path(settings).parent.glob("*.json"))
    if not there or settings.labelled in there:
        return again
    return f"there are: {', '.join(there)}; e.g. --labelled {there[-1]}; or {again}"


def _fault(sentence: Sentence) -> str | None:
    """How a coordination of a sentence does not fit its words, or None."""
    count = len(sentence.words)
    for c in sentence.coordinations:
        if not 0 <= c.coordinator < count:
            return f"coordinator {c.coordinator} of {count} words"
        if sentence.words[c.coordinator] != c.word:
            return f"word {c.coordinator} is {sentence.words[c.coordinator]!r}, not {c.word!r}"
        end = 0
        for span in c.conjuncts:
            if not end <= span.start < span.end <= count:
                return f"conjunct {span.start}-{span.end} of {count} words, after one to {end}"
            if span.start <= c.coordinator < span.end:
                return f"conjunct {span.start}-{span.end} contains its coordinator {c.coordinator}"
            end = span.end
    return None

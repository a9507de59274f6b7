"""``conjoin train``: one run of Algorithm 1, from a draw of L and a corpus of candidates."""

import os
import time
from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any, cast

import pyarrow as pa
import torch

from pipeline.core.annotation import as_json
from pipeline.core.cards.runs import RunCard, RunPaper, RunSettings
from pipeline.core.claims import Claim
from pipeline.core.console import Meter, say, table, warn
from pipeline.core.corpora import COORDINATION
from pipeline.core.corpus_folder import coordinators_of, inputs_in, require_ingested
from pipeline.core.documents import read_json
from pipeline.core.errors import ConjoinError, InputError, ModelError, SettingsError
from pipeline.core.fingerprint import Fingerprint, Output, versions_of
from pipeline.core.last_resort import is_short_of_memory
from pipeline.core.names import FOLDER_NAME, is_folder_name
from pipeline.core.parquet import read_batches
from pipeline.core.runs import NO_AUGMENTATION, System
from pipeline.core.schema import scored_schema
from pipeline.core.settings import flag_of
from pipeline.core.tally import Tally
from pipeline.corpus.coordinators import coordinators_input
from pipeline.executor import launch
from pipeline.executor.checkpoints import TrainingCheckpoints, TrainingState
from pipeline.models.loading import identity, locate
from pipeline.models.roles import words_fact
from pipeline.tasks.augmentation import Augmentation, Labelled, Material
from pipeline.tasks.coordination.brackets import BracketTask
from pipeline.tasks.coordination.model import CoordinationPredictor
from pipeline.tasks.known import TASKS, task_of
from pipeline.tasks.protocol import Model
from pipeline.train.acceptance import Acceptance, Everything, rule_of
from pipeline.train.algorithm1 import Constants, algorithm1
from pipeline.train.annotated import annotation_of_run, begun_with
from pipeline.train.augmentation.kinds import SETTINGS as AUGMENTATION_SETTINGS
from pipeline.train.augmentation.kinds import kinds_of
from pipeline.train.believed import last_accepted
from pipeline.train.data import (
    TrainData,
    digest_of_conjuncts,
    encoder_of,
    fresh_model,
    read_data,
)
from pipeline.train.distributed import ProcessGroup
from pipeline.train.gold import shown_parser
from pipeline.train.learner import Learner
from pipeline.train.optimizer import Schedule
from pipeline.train.run_folder import (
    PARTS,
    earlier_run,
    replace_predictor,
    run_output,
    update_run,
    write_run,
)
from pipeline.train.selection import SELECTIONS
from pipeline.train.settings import TrainSettings
from pipeline.train.stream import AugmentedStream, LabelledStream

ALGORITHM = 6
"""Raise it when a code change changes the predictor made from the same settings and data, or
when the state that a checkpoint holds takes another form: finished runs and checkpoints are then stale."""

GONE: dict[str, Any] = {"temperature": "1", "judges": 1, "average": 0.0, "weigh": "none"}
"""Settings that there are no more, with the values that all runs have now: so finished runs stay current."""

_COURTESY = 3.0  # seconds; the launcher looks after its processes every tenth


def run(settings: TrainSettings, without: AbstractSet[str] = frozenset()) -> None:
    """Train a predictor and write its run folder.

    Args:
        settings: of the run.
        without: sentences of L that it shall not learn from; one process alone can leave some out.

    Raises:
        InputError: the draw, the sentences or the candidates are missing, empty or inconsistent; the
            run folder cannot be written to, or its checkpoint is of another run.
        ModelError: the encoder cannot be loaded, or the loss is not a number.
        SettingsError: options that do not go together.
    """
    system = settings.system or settings.usual_name
    if not is_folder_name(system):
        raise SettingsError(f"system = {system[:80]!r} {FOLDER_NAME}")
    name = f"runs/{system}/{settings.labelled}/seed-{settings.seed}"
    out = settings.out or settings.corpus / name
    require_ingested(settings.corpus)  # before anything is made in it
    claim = _claim(settings, out)
    claim.check()
    _check_writable(out)
    if settings.processes > 1 and not launch.in_launch():
        launch.launch(settings.command_line(), settings.processes, out, claim=claim)
    if torch.cuda.is_available():
        os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
        torch.use_deterministic_algorithms(True, warn_only=True)
    with launch.working(out, settings.threads, claim) as worker:
        group = ProcessGroup.gather(
            worker.rank, worker.world, worker.device, settings.mixed_precision
        )
        try:
            _Run(settings, system, claim, group, without).train()
        except ConjoinError:
            if not group.first:
                # The first process mostly meets the same and says so; then this one ends waiting.
                time.sleep(_COURTESY)
            raise
        except (RuntimeError, MemoryError) as error:
            if is_short_of_memory(error):
                raise ModelError(
                    f"the memory of {group.device} is full",
                    remedy="take a smaller --n-batch or --mlp-hidden, or a smaller encoder",
                ) from error
            raise


def _claim(settings: TrainSettings, out: Path) -> Claim:
    """What the folder of the run may replace, and what it may not touch."""
    named = [settings.candidates, encoder_of(settings), settings.gold_folder]
    there = [Path(each) for each in named if each is not None and Path(each).exists()]
    return Claim(out, "train", [*inputs_in(settings.corpus), *there], earlier_run, parts=PARTS)


class _Run:
    """One run of one process of a group; the first process writes its files."""

    def __init__(
        self,
        settings: TrainSettings,
        system: str,
        claim: Claim,
        group: ProcessGroup,
        without: AbstractSet[str],
    ) -> None:
        self.settings, self.system, self.claim, self.group = settings, system, claim, group
        self.out = claim.out
        self.without = without
        self.encoder = encoder_of(settings)
        # Known from here on: the folder may be moved or changed while this runs.
        self.identity = identity(self.encoder)
        self.begun_with = begun_with(self.encoder)
        self.task = task_of(settings.corpus)
        self._refuse_others_options()

    def _refuse_others_options(self) -> None:
        """Check that no setting is given that another task alone has.

        Raises:
            SettingsError: one is, or a kind of variants that this task does not have.
        """
        settings, task = self.settings, self.task
        for name in sorted(self._others_options() - settings.usual()):
            raise SettingsError(f"a corpus of {task.name} has no --{flag_of(name)}: leave it out")
        if settings.augment not in {NO_AUGMENTATION, *kinds_of(task)}:
            raise SettingsError(
                f"a corpus of {task.name} has no --augment {settings.augment}; there are: "
                f"{', '.join(kinds_of(task))}"
            )

    def _others_options(self) -> set[str]:
        """Settings that no run of this task has."""
        return set().union(*(each.options for each in TASKS.values())) - self.task.options

    def train(self) -> None:
        begun = time.monotonic()
        settings = self.settings
        predictor = self._fresh(settings.seed)
        data, annotation = self._read(predictor)
        augmentation = self._augmentation(data, predictor)
        fingerprint = self._fingerprint(data, augmentation)
        output = run_output(self.out, fingerprint)
        checkpoints = TrainingCheckpoints(
            self.out / "checkpoints", fingerprint, settings.keep,
            afresh=" or run with --no-resume",
        )  # fmt: skip
        finished = settings.resume and output.state().kind == "current"
        state, first, before = None, 0, 0.0
        if settings.resume and not finished:
            state, first, before = self._latest(checkpoints)
        begun -= before
        self._agree(finished, first)
        if finished:
            if self.group.first:
                self._leave_finished(output, data, annotation)
            return
        what = f"train {self.system} {settings.labelled} seed {settings.seed}"
        meter = Meter(what, settings.steps, first=first)

        def notify(done: int, note: str) -> None:
            if self.group.first:
                meter.at(done, f"{note}  {meter.rate:.1f} steps/s")

        schedule = Schedule.of(settings)
        learner = Learner(
            predictor, data.measured, schedule, answers=self.task.answer_columns,
            group=self.group, selection=SELECTIONS[settings.select](schedule),
            weight=settings.weight,
            brackets=self._brackets(data, predictor),
            self_train=settings.mode == "self-train",
            scores=settings.needs_scores,
            corpus=len(data.candidates or ()), figure=self.task.evaluation.figure, notify=notify,
            warn=warn if self.group.first else lambda text: None,
        )  # fmt: skip
        rule = self._rule()
        if state:
            self._restore(learner, rule, checkpoints, state)
        if self.group.first:
            self._tell_start(data, augmentation, checkpoints, first)

        def after() -> None:
            every = settings.checkpoint_every
            if self.group.first and every and learner.step % every == 0 and not learner.converged:
                tensors, facts, rows = learner.state()
                seconds = time.monotonic() - begun
                kept = {"learner": facts, "rule": rule.state, "seconds": seconds}
                with self._resumable():
                    checkpoints.write(learner.step, (tensors, kept, rows))

        with meter if self.group.first else nullcontext():
            algorithm1(
                learner, self._stream(data, augmentation), data.candidates,
                self._constants, rule, after=after,
            )  # fmt: skip
        learner.finish()
        if self.group.first:
            self._complete(predictor, data, learner.log.table(), learner.selection.step)
            excluded = {**data.excluded, "candidates": learner.log.tally}
            seconds = time.monotonic() - begun
            with self._resumable():
                record = self._record(data, augmentation, excluded)
                write_run(
                    output, self.claim, learner, {**record, "annotation": annotation}, seconds
                )
            checkpoints.clear()
            self._tell(learner, data, excluded)

    def _read(self, predictor: Model[Any]) -> tuple[TrainData, list[dict[str, Any]]]:
        """What is learned from, and the record of what was annotated for it.

        Both before any step: a damaged document beside the candidates shall not cost hours.
        """
        data = read_data(self.settings, self.task, predictor, self.without)
        return data, as_json(annotation_of_run(self.settings, self.task, self.encoder, data))

    def _latest(self, checkpoints: TrainingCheckpoints) -> tuple[TrainingState | None, int, float]:
        """The newest checkpoint that is whole, the step after which it was made, and the seconds."""
        state = checkpoints.latest(self.group.device)
        if state is None:
            return None, 0, 0.0
        with checkpoints.taken_up():
            return state, int(state[1]["learner"]["step"]), float(state[1]["seconds"])

    @staticmethod
    def _restore(
        learner: Learner, rule: Acceptance, checkpoints: TrainingCheckpoints, state: TrainingState
    ) -> None:
        with checkpoints.taken_up():
            learner.restore(state[0], state[1]["learner"], state[2])
            rule.restore(state[1]["rule"])

    @contextmanager
    def _resumable(self) -> Iterator[None]:
        """Where a file cannot be written, say how to go on from the last checkpoint."""
        try:
            yield
        except InputError as error:
            if self.settings.resume or not self.settings.checkpoint_every:
                raise
            raise InputError(
                f"{error}; with --resume it goes on from the last checkpoint"
            ) from error

    def _fingerprint(self, data: TrainData, augmentation: Augmentation[Any] | None) -> Fingerprint:
        """Everything the result depends on; a checkpoint serves no run that differs in it."""
        # Of a run without variants it is what it was before there were any.
        variants = {"augmentation": dict(augmentation.facts)} if augmentation else {}
        given = data.about(trees=self.settings.brackets is not None)
        # The predictor asks about no other words, and fills have none of them.
        given |= coordinators_input(coordinators_of(self.settings.corpus))
        devices = sorted(set(self._said(launch.describe(self.group.device))))
        return Fingerprint(
            settings=self._recorded(),
            inputs=given | variants | words_fact(self.encoder),
            model=self.identity,
            algorithm=ALGORITHM,
            versions=versions_of("torch", "transformers"),
            machine={"device": ", ".join(devices), "processes": self.group.world},
        )

    def _said(self, own: Any) -> list[Any]:
        """The value that each process of the group gave, in their order."""
        return self.group.collect([own], self.group.world)

    def _agree(self, finished: bool, first: int) -> None:
        """Check that all processes resume from the same step."""
        found = self._said("finished" if finished else f"step {first}")
        if len(set(found)) > 1:
            raise InputError(
                f"processes find different checkpoints: {', '.join(found)}",
                path=self.out,
                remedy="choose an --out that all nodes share",
            )

    def _augmentation(self, data: TrainData, predictor: Model[Any]) -> Augmentation[Any] | None:
        """What makes the variants of L; None: nothing does."""
        settings = self.settings
        if settings.augment == NO_AUGMENTATION:
            return None
        lm = settings.augment_lm
        labelled = [
            Labelled(source, example, self.task.protected(source), self.task.place(source))
            for source, example in zip(data.sources, data.learned, strict=True)
        ]
        return kinds_of(self.task)[settings.augment](
            Material(
                corpus=settings.corpus,
                labelled=labelled,
                seed=settings.seed,
                encoding=predictor.encoding,
                lm=self.encoder if lm is None else locate(lm, settings.corpus, settings.seed),
                device=self.group.device,
                alpha=settings.alpha,
                mask_tags=settings.mask_tags,
                fill_mode=settings.fill_mode,
            )
        )

    def _brackets(self, data: TrainData, model: Model[Any]) -> BracketTask | None:
        """What is learned of L's constituents; None: nothing is."""
        if self.settings.brackets is None or not isinstance(model, CoordinationPredictor):
            return None
        return BracketTask.of(model, self.settings.seed, data.sources)

    def _stream(self, data: TrainData, augmentation: Augmentation[Any] | None) -> LabelledStream:
        """SAMPLE(L, m), with variants if there is what makes them."""
        if augmentation is None:
            return LabelledStream(data.learned, self.settings.seed)
        return AugmentedStream(data.learned, self.settings.seed, augmentation)

    def _fresh(self, seed: int) -> Model[Any]:
        """A model with the encoder that the record will name.

        Raises:
            ModelError: it cannot be loaded, or its files changed meanwhile.
        """
        model = fresh_model(self.settings, self.task, seed, self.group.device)
        if identity(self.encoder) != self.identity:
            raise ModelError(
                f"{self.encoder!r} changed while it was read", remedy="start again when it is whole"
            )
        return model

    @property
    def _constants(self) -> Constants:
        settings = self.settings
        return Constants(settings.n_batch, settings.k, settings.k_max, settings.warm_steps)

    def _complete(self, model: Model[Any], data: TrainData, log: pa.Table, step: int) -> None:
        """Have a model learn what is learned after its weights, those of a step, were chosen."""
        generated = list[Any]()
        # In self-training the boundaries learned are the model's own, and no candidate's.
        learnt = self.settings.weight != 0 and step > self.settings.warm_steps
        if data.candidates is not None and self.settings.mode != "self-train" and learnt:
            generated = last_accepted(data.candidates, log, self._constants)
        counts = model.complete(data.learned, generated, self.settings.seed)
        if counts:
            told = ", ".join(f"{count:,} {what}" for what, count in counts.items())
            say(f"learned after the weights were chosen: {told}")

    def _leave_finished(
        self, output: Output, data: TrainData, annotation: list[dict[str, Any]]
    ) -> None:
        """Bring what an earlier version finished up to date; no figure of it changes."""
        learned = self._learned_from(data)
        self._complete_finished(output, data, learned.get("conjuncts"))
        named = {"system": self.system, "shown_as": self.settings.shown_as}
        update_run(output, {**named, **learned, "annotation": annotation})
        say(f"{self.out}: this very run is finished; --no-resume makes it again")

    def _complete_finished(self, output: Output, data: TrainData, conjuncts: str | None) -> None:
        """Have its predictor learn what it has not yet, or what L says otherwise now."""
        model = self.task.load(self.out / "predictor").to(self.group.device)
        card = read_json(self.out / "run.json")
        changed = card.get("conjuncts") != conjuncts
        if changed or not model.is_complete:
            schema = scored_schema(self.task.answer_columns)
            log = pa.Table.from_batches(read_batches(self.out / "scored.parquet", schema), schema)
            self._complete(model, data, log, card["best_step"] or 0)
            if changed or model.is_complete:
                replace_predictor(output, model)

    def _learned_from(self, data: TrainData) -> dict[str, Any]:
        """What the card of a run says of it that no setting tells."""
        found: dict[str, Any] = {"held_out": data.held_out}
        if self.task.name == COORDINATION:  # whose predictors learn where conjuncts end
            found["conjuncts"] = digest_of_conjuncts(data.learned)
        if self.begun_with is not None:
            found["begun_with"] = self.begun_with
        return found

    def _rule(self) -> Acceptance:
        settings = self.settings
        return Everything() if settings.mode == "no-filter" else rule_of(settings.accept, settings)

    def _recorded(self) -> dict[str, Any]:
        """The settings that make a difference, without machine paths."""
        settings = self.settings
        apart = {
            "corpus", "out", "system", "candidates", "processes", "checkpoint_every", "keep", "resume",
            *System.FIELDS,
        }  # fmt: skip
        if settings.mode == "baseline":
            apart |= {"weight"}  # which a section of params.yaml may give all its systems
        if settings.mode != "filter" or settings.accept != "relative":
            apart |= {"relative"}
        # These came later, and change no run made before.
        apart |= {name for name in ("gold_of", "brackets") if getattr(settings, name) is None}
        if not settings.warm_up:
            apart |= {"warm_up"}
        apart |= self._others_options()
        if settings.augment == NO_AUGMENTATION:
            apart |= AUGMENTATION_SETTINGS
        else:
            apart |= (
                AUGMENTATION_SETTINGS - kinds_of(self.task)[settings.augment].takes - {"augment"}
            )
        kept = settings.model_dump(mode="json", exclude=apart) | GONE
        if settings.mode == "baseline":
            kept.pop("weigh")
        if settings.candidates is not None and settings.mode != "baseline":
            folder, corpus = Path(settings.candidates), settings.corpus
            # As it is written, if that says so, for a link may lead elsewhere.
            if not folder.is_relative_to(corpus):
                folder, corpus = folder.resolve(), corpus.resolve()
            if folder.is_relative_to(corpus):
                kept["candidates"] = str(folder.relative_to(corpus))
            else:
                kept["candidates"] = folder.name if folder.is_dir() else settings.candidates
        if (parser := settings.gold_folder) is not None:
            kept["gold_of"] = shown_parser(settings.corpus, parser)
        return kept

    def _tell_start(
        self,
        data: TrainData,
        augmentation: Augmentation[Any] | None,
        checkpoints: TrainingCheckpoints,
        first: int,
    ) -> None:
        if augmentation and augmentation.note:
            warn(augmentation.note)
        if self.settings.gold_of is not None:
            tally, new = data.excluded["others"], len(data.others)
            say(
                f"L is extended by {new:,} sentences that the parser learned from and that are not in it, "
                f"with {tally.kept:,} coordinations"
            )
        if self.settings.brackets is not None:
            parsed = sum(sentence.tree is not None for sentence in data.sources)
            say(f"brackets are learned of {parsed:,} of {len(data.sources):,} labelled sentences")
        for note, count in data.notes.items():
            say(f"{count:,} {note}")
        if data.uncovered:
            warn(f"no candidate has a label of these in L: {', '.join(data.uncovered)}")
        for fault in checkpoints.damaged:
            warn(f"checkpoint passed over: {fault}")
        if first:
            say(f"resumed after step {first:,}")
        else:
            checkpoints.clear()

    def _record(
        self, data: TrainData, augmentation: Augmentation[Any] | None, excluded: Mapping[str, Tally]
    ) -> RunCard:
        settings, recorded = self.settings, self._recorded()
        card: RunCard = {
            "system": self.system,
            "shown_as": settings.shown_as,
            "mode": settings.mode,
            "labelled": data.size,
            "draw": settings.labelled,
            "seed": settings.seed,
            "select": settings.select,
            "model": self.identity,
            "settings": cast(RunSettings, recorded),
            "candidates": len(data.candidates or ()),
            "excluded": {what: tally.to_dict() for what, tally in excluded.items()},
        }
        if self.task.name == COORDINATION:  # whose paper the defaults are of
            card["paper"] = _beside_the_paper(recorded)
        if augmentation:
            card["augmentation"] = augmentation.facts
        if data.notes:
            card["notes"] = data.notes
        return cast(RunCard, {**card, **self._learned_from(data)})

    def _tell(self, learner: Learner, data: TrainData, excluded: Mapping[str, Tally]) -> None:
        refused: Sequence[tuple[str, str, int]] = [
            (what, reason, count)
            for what, tally in excluded.items()
            for reason, count in tally.rows()[1:]
        ]
        if refused:
            table("Left out of training", ["set", "reason", "count"], refused)
        log, settings = learner.log, self.settings
        say(
            f"{self.system}, |L| = {settings.labelled}, seed {settings.seed}: "
            f"{learner.selection.describe(self.task.evaluation.figure)} of {learner.step}; "
            f"accepted {log.accepted:,} of {log.seen:,} candidates seen"
        )
        if data.candidates is not None and not log.seen:
            say(
                f"No candidate was looked at (--warm-steps {settings.warm_steps}, --steps {settings.steps}, "
                f"--k {settings.k}), so this predictor learnt from L alone"
            )
        elif log.seen and learner.selection.step <= settings.warm_steps:
            say(
                f"That is before the first candidate joined (after step {settings.warm_steps}), so this "
                "predictor learnt from L alone; see how validation went on (history.jsonl)"
            )


def _beside_the_paper(recorded: Mapping[str, Any]) -> RunPaper:
    """Which settings are the paper's, the defaults, and of the others the paper's value, in order."""
    papers = TrainSettings.model_construct(corpus=Path()).model_dump(mode="json")
    known = [name for name in TrainSettings.model_fields if name in recorded]
    return {
        "alike": [name for name in known if recorded[name] == papers[name]],
        "unlike": [[name, papers[name]] for name in known if recorded[name] != papers[name]],
    }


def _check_writable(out: Path) -> None:
    # Now, not after hours of training.
    try:
        out.mkdir(parents=True, exist_ok=True)
        writable = os.access(out, os.W_OK)
    except OSError:
        writable = False
    if not writable:
        raise InputError("cannot write here", path=out, remedy="name another --out")

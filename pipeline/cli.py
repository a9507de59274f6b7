"""The ``conjoin`` command: one Typer command per settings class, run by the module of its name.

Settings are light to import; the stage itself (torch, transformers, stanza) is imported only when
its command runs, so ``--help`` and a typo answer at once. How a command ends that met a problem is
said in ``core/last_resort.py``.
"""

import importlib
import inspect
import os
import re
import shlex
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, Literal, get_args, get_origin

import typer
from pydantic.fields import FieldInfo
from typer.core import TyperCommand, TyperGroup

from pipeline import __version__
from pipeline.audit.settings import AuditSettings
from pipeline.core.console import warn
from pipeline.core.last_resort import DEBUG, ending_in_one_line
from pipeline.core.process import end_with_dvc, give_way
from pipeline.core.settings import Settings, flag_of
from pipeline.ellipsis.agree.settings import AgreeSettings
from pipeline.ellipsis.gap.settings import GapSettings
from pipeline.ellipsis.orphans.settings import OrphansSettings
from pipeline.evaluate.settings import EvaluateSettings
from pipeline.experiments.diagnose.settings import DiagnoseSettings
from pipeline.experiments.plan.settings import PlanSettings
from pipeline.experiments.repro.settings import ReproSettings
from pipeline.generate.settings import GenerateSettings
from pipeline.harvest.settings import HarvestSettings
from pipeline.ingest.settings import IngestSettings
from pipeline.preparse.settings import PreparseSettings
from pipeline.pretrain.settings import PretrainSettings
from pipeline.release.settings import ReleaseSettings
from pipeline.report.settings import ReportSettings
from pipeline.select.settings import SelectSettings
from pipeline.sharing.browse.settings import BrowseSettings
from pipeline.sharing.corpora.settings import CorporaSettings
from pipeline.sharing.export.settings import ExportSettings
from pipeline.sharing.merge.settings import MergeSettings
from pipeline.sharing.models.settings import ModelsSettings
from pipeline.sharing.push.settings import PushSettings
from pipeline.sharing.rehydrate.settings import RehydrateSettings
from pipeline.sharing.stats.settings import StatsSettings
from pipeline.sharing.validate.settings import ValidateSettings
from pipeline.tasks.questions.ask.settings import AskSettings
from pipeline.tasks.questions.pair.settings import PairSettings
from pipeline.tasks.questions.play.settings import PlaySettings
from pipeline.tasks.questions.vote.settings import VoteSettings
from pipeline.tasks.relations.synthesize.settings import SynthesizeSettings
from pipeline.train.settings import TrainSettings
from pipeline.trying.annotate.settings import AnnotateSettings
from pipeline.trying.fill.settings import FillSettings
from pipeline.trying.predict.settings import PredictSettings

STAGES, OF_RELATIONS, OF_QUESTIONS, TRY, EXPERIMENTS, TREEBANKS, SHARE = (
    "Pipeline stages", "Stages of relations", "Stages of questions", "Try it", "Experiments",
    "Dependency treebanks", "Share a corpus",
)  # fmt: skip

COMMANDS: dict[str, tuple[type[Settings], str, str]] = {
    "ingest": (IngestSettings, "pipeline.ingest.stage", STAGES),
    "pretrain": (PretrainSettings, "pipeline.pretrain.stage", STAGES),
    "preparse": (PreparseSettings, "pipeline.preparse.stage", STAGES),
    "generate": (GenerateSettings, "pipeline.generate.stage", STAGES),
    "harvest": (HarvestSettings, "pipeline.harvest.stage", STAGES),
    "select": (SelectSettings, "pipeline.select.stage", STAGES),
    "train": (TrainSettings, "pipeline.train.stage", STAGES),
    "evaluate": (EvaluateSettings, "pipeline.evaluate.stage", STAGES),
    "audit": (AuditSettings, "pipeline.audit.stage", STAGES),
    "report": (ReportSettings, "pipeline.report.stage", STAGES),
    "release": (ReleaseSettings, "pipeline.release.stage", STAGES),
    "synthesize": (SynthesizeSettings, "pipeline.tasks.relations.synthesize.stage", OF_RELATIONS),
    "pair": (PairSettings, "pipeline.tasks.questions.pair.stage", OF_QUESTIONS),
    "vote": (VoteSettings, "pipeline.tasks.questions.vote.command", OF_QUESTIONS),
    "ask": (AskSettings, "pipeline.tasks.questions.ask.stage", OF_QUESTIONS),
    "play": (PlaySettings, "pipeline.tasks.questions.play.command", OF_QUESTIONS),
    "fill": (FillSettings, "pipeline.trying.fill.command", TRY),
    "predict": (PredictSettings, "pipeline.trying.predict.command", TRY),
    "annotate": (AnnotateSettings, "pipeline.trying.annotate.command", TRY),
    "models": (ModelsSettings, "pipeline.sharing.models.command", TRY),
    "diagnose": (DiagnoseSettings, "pipeline.experiments.diagnose.command", EXPERIMENTS),
    "plan": (PlanSettings, "pipeline.experiments.plan.command", EXPERIMENTS),
    "repro": (ReproSettings, "pipeline.experiments.repro.command", EXPERIMENTS),
    "gap": (GapSettings, "pipeline.ellipsis.gap.command", TREEBANKS),
    "agree": (AgreeSettings, "pipeline.ellipsis.agree.command", TREEBANKS),
    "orphans": (OrphansSettings, "pipeline.ellipsis.orphans.command", TREEBANKS),
    "validate": (ValidateSettings, "pipeline.sharing.validate.command", SHARE),
    "stats": (StatsSettings, "pipeline.sharing.stats.command", SHARE),
    "browse": (BrowseSettings, "pipeline.sharing.browse.command", SHARE),
    "merge": (MergeSettings, "pipeline.sharing.merge.command", SHARE),
    "export": (ExportSettings, "pipeline.sharing.export.command", SHARE),
    "push": (PushSettings, "pipeline.sharing.push.command", SHARE),
    "rehydrate": (RehydrateSettings, "pipeline.sharing.rehydrate.command", SHARE),
    "corpora": (CorporaSettings, "pipeline.sharing.corpora.command", SHARE),
}
"""Command name → its settings, the module whose ``run(settings)`` carries it out, and what it is for.

``conjoin --help`` shows those of one purpose together, in this order.
"""


_HARD = "\ue000"  # a hyphen, while lines are broken; no help has this character


class _Command(TyperCommand):
    """A command whose help is plain and has two columns, for names and types leave a third no room."""

    def __init__(self, *args: Any, **given: Any) -> None:
        super().__init__(*args, **{**given, "rich_markup_mode": None})

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read the command line, and say of which option with one value a later one took the place."""
        rest = super().parse_args(ctx, list(args))
        order = self.make_parser(ctx).parse_args(args=list(args))[2]
        for param, times in Counter(order).items():
            if times > 1 and param.param_type_name == "option" and not param.multiple:
                warn(f"{param.opts[0]} is there {times} times, and the last counts")
        return rest

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """The usage's words: PLACE instead of Typer's {PLACE}."""
        return [re.sub("[{}]", "", piece) for piece in super().collect_usage_pieces(ctx)]

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write arguments and options; of an argument the word that the usage has, and no type.

        No line ends at a hyphen, lest ``--no-sync`` be read as two words.
        """
        rows: dict[str, list[tuple[str, str]]] = {"Arguments": [], "Options": []}
        for param in self.get_params(ctx):
            if param.param_type_name == "argument":
                rows["Arguments"].append((str(param.metavar), str(getattr(param, "help", ""))))
            elif record := param.get_help_record(ctx):
                rows["Options"].append(record)
        for title, known in rows.items():
            if known:
                with formatter.section(title):
                    formatter.write_dl([(name, text.replace("-", _HARD)) for name, text in known])
        formatter.buffer[:] = [text.replace(_HARD, "-") for text in formatter.buffer]


class _Root(TyperGroup):
    """The command that has the others, whose --help is no value either."""

    def get_help_option(self, ctx: Any) -> Any:
        """The option, which Typer would call a <bool>."""
        if option := super().get_help_option(ctx):
            option.metavar = ""
        return option


app = typer.Typer(
    name="conjoin",
    cls=_Root,
    help="Manufacture coordination-annotated sentences by synchronized text-infilling, and train on them.",
    no_args_is_help=True,
    pretty_exceptions_show_locals=False,
    add_completion=False,
)


def _option(settings: type[Settings], name: str) -> inspect.Parameter:
    field = settings.model_fields[name]
    kind = _without_none(field.annotation)
    choices = "|".join(get_args(kind)) if get_origin(kind) is Literal else ""
    if choices:  # the settings refuse what is no choice, with a remedy
        kind = str
    required, help_ = field.is_required(), field.description or ""
    if name in settings.arguments:
        help_text = f"{help_} One of: {choices.replace('|', ', ')}." if choices else help_
        marker: Any = typer.Argument(help=help_text, metavar=name.upper(), show_default=False)
    else:
        flag = flag_of(name)
        marker = typer.Option(
            f"--{flag}/--no-{flag}" if kind is bool else f"--{flag}",
            metavar=None if kind is bool else choices or _KINDS[_element(kind)],
            help=f"{help_} {_extra(field, flag, kind)}".strip(),
            show_default=False,
        )
    by_place = name in settings.arguments and required
    return inspect.Parameter(
        name,
        inspect.Parameter.POSITIONAL_OR_KEYWORD if by_place else inspect.Parameter.KEYWORD_ONLY,
        default=inspect.Parameter.empty if by_place else None,
        annotation=Annotated[kind if by_place else kind | None, marker],
    )


_KINDS = {int: "N", float: "X", str: "TEXT", Path: "PATH"}
"""Type of an option → the word that stands for its value."""


def _without_none(kind: Any) -> Any:
    """The type of an option's value, which may be left out."""
    # Of a choice that may be left out Python makes no UnionType.
    known = [each for each in get_args(kind) if each is not type(None)]
    value = known[0] if type(None) in get_args(kind) and len(known) == 1 else kind
    if get_origin(value) is list:
        return list[_unvalidated(_element(value))]  # type: ignore[misc]
    return _unvalidated(value)


def _unvalidated(kind: Any) -> Any:
    return get_args(kind)[0] if get_origin(kind) is Annotated else kind


def _element(kind: Any) -> Any:
    return get_args(kind)[0] if get_origin(kind) is list else kind


def _extra(field: FieldInfo, flag: str, kind: Any) -> str:
    """What stands in brackets behind an option's help: required, repeatable, its default as it is typed."""
    if field.is_required():
        return "[required]"
    parts = ["repeatable"] if get_origin(kind) is list else []
    default = field.get_default(call_default_factory=True)
    if default not in (None, "", [], Path()):
        here = " on this machine" if field.default_factory else ""
        parts.append(f"default: {_typed(flag, default)}{here}")
    return f"[{'; '.join(parts)}]" if parts else ""


def _typed(flag: str, value: object) -> str:
    """A value as one types it: ``250``, ``5e-5``, ``--no-sync``, ``--seeds 0 --seeds 1``."""
    if isinstance(value, bool):
        return f"--{flag}" if value else f"--no-{flag}"
    if isinstance(value, list):
        each = [_typed(flag, item) for item in value]
        return each[0] if len(each) == 1 else " ".join(f"--{flag} {item}" for item in each)
    if isinstance(value, float):
        return re.sub(r"e([+-])0*", r"e\1", f"{value:.10g}").replace("e+", "e")
    return shlex.quote(str(value))


def _command(settings: type[Settings], module: str) -> Callable[..., None]:
    def run(*args: Any, params: Path | None = None, named: str | None = None, **given: Any) -> None:
        # Hugging Face tokenizers warn about forks otherwise; nothing here forks after tokenizing.
        os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
        # Inside of Typer, which would end an interrupted command without a word.
        with ending_in_one_line():
            end_with_dvc()
            built = settings.build(given, params, named)
            if (
                "WORLD_SIZE" not in os.environ
            ):  # a worker is given all options, and its launcher was told
                for line in built.without_effect(
                    k for k, v in given.items() if v not in (None, [])
                ):
                    warn(line)
            if not settings.every_task:
                from pipeline.core.corpus_folder import require_coordination  # noqa: PLC0415 - pyarrow

                for place in built.named_places():
                    require_coordination(place, settings.stage)
            importlib.import_module(module).run(built)

    own = [name for name in settings.__annotations__ if name in settings.model_fields]
    # What the command shares with others comes after its own.
    names = dict.fromkeys([*own, *settings.model_fields])
    parameters = [_option(settings, name) for name in names]
    parameters.append(
        inspect.Parameter(
            "params",
            inspect.Parameter.KEYWORD_ONLY,
            default=None,
            annotation=Annotated[
                Path | None,
                typer.Option(
                    metavar="PATH",
                    help=f"Take unset options from section '{settings.stage}' of this file.",
                ),
            ],
        )
    )
    if settings.table and settings.name_field is None:
        parameters.append(
            inspect.Parameter(
                "named",
                inspect.Parameter.KEYWORD_ONLY,
                default=None,
                annotation=Annotated[
                    str | None,
                    typer.Option(
                        metavar="NAME",
                        help=f"Take unset options from its entry of '{settings.table}' there, first.",
                    ),
                ],
            )
        )
    parameters.sort(key=lambda p: p.default is not inspect.Parameter.empty)
    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {p.name: p.annotation for p in parameters}
    run.__doc__ = (settings.__doc__ or "").partition("\n")[0]
    return run


for _name, (_settings, _module, _panel) in COMMANDS.items():
    app.command(_name, cls=_Command, rich_help_panel=_panel)(_command(_settings, _module))


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"conjoin {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_version, is_eager=True, metavar="", help="Print the version."
        ),
    ] = False,
    debug: Annotated[
        bool,
        typer.Option(
            "--debug", metavar="", help=f"Show the traceback of a problem; or set {DEBUG}=1."
        ),
    ] = False,
) -> None:
    del version
    if debug:
        os.environ[DEBUG] = "1"  # worker processes and cells of `repro` inherit it


def main() -> None:
    """Entry point: a problem is one line on standard error; exit code 2 if the user can solve it, else 70."""
    give_way()
    with ending_in_one_line():
        app()

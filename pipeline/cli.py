"""The ``conjoin`` command: one Typer command per settings class, run by the module of its name.

Settings are light to import; the stage itself (torch, transformers, stanza) is imported only when
its command runs, so ``--help`` and a typo answer at once. How a command ends that met a problem is
said in ``core/last_resort.py``.
"""

import importlib
import inspect
import os
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, Literal, get_args, get_origin

import typer

from pipeline import __version__
from pipeline.audit.settings import Audit
from pipeline.core.last_resort import DEBUG, ending_in_one_line
from pipeline.core.process import end_with_dvc
from pipeline.core.settings import Settings, flag_of
from pipeline.evaluate.settings import Evaluate
from pipeline.generate.settings import Generate
from pipeline.ingest.settings import Ingest
from pipeline.preparse.settings import Preparse
from pipeline.pretrain.settings import Pretrain
from pipeline.release.settings import Rehydrate, Release
from pipeline.report.settings import Report
from pipeline.select.settings import Select
from pipeline.tools.settings import (
    Browse,
    Corpora,
    Export,
    Fill,
    Merge,
    Plan,
    Predict,
    Push,
    Repro,
    Stats,
    Validate,
)
from pipeline.train.settings import Train

COMMANDS: dict[str, tuple[type[Settings], str]] = {
    "ingest": (Ingest, "pipeline.ingest.stage"),
    "pretrain": (Pretrain, "pipeline.pretrain.stage"),
    "preparse": (Preparse, "pipeline.preparse.stage"),
    "generate": (Generate, "pipeline.generate.stage"),
    "select": (Select, "pipeline.select.stage"),
    "train": (Train, "pipeline.train.stage"),
    "evaluate": (Evaluate, "pipeline.evaluate.stage"),
    "audit": (Audit, "pipeline.audit.stage"),
    "report": (Report, "pipeline.report.stage"),
    "release": (Release, "pipeline.release.stage"),
    "fill": (Fill, "pipeline.tools.fill"),
    "predict": (Predict, "pipeline.tools.predict.command"),
    "plan": (Plan, "pipeline.tools.repro.plan"),
    "repro": (Repro, "pipeline.tools.repro.command"),
    "validate": (Validate, "pipeline.tools.validate.command"),
    "stats": (Stats, "pipeline.tools.stats"),
    "browse": (Browse, "pipeline.tools.browse.command"),
    "merge": (Merge, "pipeline.tools.merge"),
    "export": (Export, "pipeline.tools.export.command"),
    "push": (Push, "pipeline.tools.push"),
    "rehydrate": (Rehydrate, "pipeline.tools.rehydrate"),
    "corpora": (Corpora, "pipeline.tools.corpora"),
}
"""Command name → its settings and the module whose ``run(settings)`` carries it out."""

app = typer.Typer(
    name="conjoin",
    help="Manufacture coordination-annotated sentences by synchronized text-infilling, and train on them.",
    no_args_is_help=True,
    pretty_exceptions_show_locals=False,
    add_completion=False,
)


def _option(settings: type[Settings], name: str) -> inspect.Parameter:
    field = settings.model_fields[name]
    kind = field.annotation
    if name in settings.arguments:
        marker: Any = typer.Argument(help=field.description, show_default=False)
        default = inspect.Parameter.empty if field.is_required() else None
    else:
        required = field.is_required()
        shown = None if required else field.get_default(call_default_factory=True)
        flag, metavar = flag_of(name), None
        names = [f"--{flag}/--no-{flag}"] if kind is bool else [f"--{flag}"]
        if get_origin(kind) is Literal:  # the settings refuse what is no choice, with a remedy
            metavar, kind = f"<{'|'.join(get_args(kind))}>", str
        marker = typer.Option(
            *names,
            metavar=metavar,
            help=f"{field.description} (required)" if required else field.description,
            show_default=False if shown is None or shown in ("", []) else str(shown),
        )
        default = None
    optional = kind if default is inspect.Parameter.empty else kind | None  # type: ignore[operator]
    return inspect.Parameter(
        name,
        inspect.Parameter.POSITIONAL_OR_KEYWORD
        if default is inspect.Parameter.empty
        else inspect.Parameter.KEYWORD_ONLY,
        default=default,
        annotation=Annotated[optional, marker],
    )


def _command(settings: type[Settings], module: str) -> Callable[..., None]:
    def run(*args: Any, params: Path | None = None, **given: Any) -> None:
        # Hugging Face tokenizers warn about forks otherwise; nothing here forks after tokenizing.
        os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
        # Inside of Typer, which would end an interrupted command without a word.
        with ending_in_one_line():
            end_with_dvc()
            built = settings.build(given, params)
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
                    help=f"Take unset options from section '{settings.stage}' of this file."
                ),
            ],
        )
    )
    parameters.sort(key=lambda p: p.default is not inspect.Parameter.empty)
    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {p.name: p.annotation for p in parameters}
    run.__doc__ = (settings.__doc__ or "").partition("\n")[0]
    return run


for _name, (_settings, _module) in COMMANDS.items():
    app.command(_name)(_command(_settings, _module))


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"conjoin {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
    debug: Annotated[
        bool, typer.Option("--debug", help=f"Show the traceback of a problem; or set {DEBUG}=1.")
    ] = False,
) -> None:
    del version
    if debug:
        os.environ[DEBUG] = "1"  # worker processes and cells of `repro` inherit it


def main() -> None:
    """Entry point: a problem is one line on standard error; exit code 2 if the user can solve it, else 70."""
    with ending_in_one_line():
        app()

"""The ``conjoin`` command: one Typer command per settings class, run by the module of its name.

Settings are light to import; the stage itself (torch, transformers, stanza) is imported only when
its command runs, so ``--help`` and a typo answer at once.
"""

import importlib
import inspect
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from pipeline import __version__
from pipeline.ground.errors import ConjoinError
from pipeline.ground.parent import end_with_dvc
from pipeline.settings.audit import Audit
from pipeline.settings.base import Settings, flag_of
from pipeline.settings.evaluate import Evaluate
from pipeline.settings.fill import Fill
from pipeline.settings.generate import Generate
from pipeline.settings.ingest import Ingest
from pipeline.settings.predict import Corpora, Predict
from pipeline.settings.preparse import Preparse
from pipeline.settings.pretrain import Pretrain
from pipeline.settings.release import Rehydrate, Release
from pipeline.settings.report import Report
from pipeline.settings.repro import Plan, Repro
from pipeline.settings.share import Browse, Export, Merge, Push, Stats, Validate
from pipeline.settings.train import Train

__all__ = ["COMMANDS", "app", "main"]

COMMANDS: dict[str, tuple[type[Settings], str]] = {
    "ingest": (Ingest, "pipeline.stages.ingest"),
    "pretrain": (Pretrain, "pipeline.stages.pretrain"),
    "preparse": (Preparse, "pipeline.stages.preparse"),
    "generate": (Generate, "pipeline.stages.generate"),
    "train": (Train, "pipeline.stages.train"),
    "evaluate": (Evaluate, "pipeline.stages.evaluate"),
    "audit": (Audit, "pipeline.stages.audit"),
    "report": (Report, "pipeline.stages.report"),
    "release": (Release, "pipeline.stages.release"),
    "fill": (Fill, "pipeline.tools.fill"),
    "predict": (Predict, "pipeline.tools.predict"),
    "plan": (Plan, "pipeline.tools.plan"),
    "repro": (Repro, "pipeline.tools.repro"),
    "validate": (Validate, "pipeline.tools.validate"),
    "stats": (Stats, "pipeline.tools.stats"),
    "browse": (Browse, "pipeline.tools.browse"),
    "merge": (Merge, "pipeline.tools.merge"),
    "export": (Export, "pipeline.tools.export"),
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
        flag = flag_of(name)
        names = [f"--{flag}/--no-{flag}"] if kind is bool else [f"--{flag}"]
        marker = typer.Option(
            *names,
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
        end_with_dvc()
        built = settings.build(given, params)
        importlib.import_module(module).run(built)

    parameters = [_option(settings, name) for name in settings.model_fields]
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
    run.__doc__ = settings.summary
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
) -> None:
    del version


def main() -> None:
    """Entry point: what the user can mend is one line on standard error and exit code 2."""
    try:
        app()
    except (ConjoinError, OSError, UnicodeDecodeError) as error:
        # Files that cannot be opened or read are the user's to mend as well, whoever met them.
        print(f"conjoin: {' '.join(str(error).split())}", file=sys.stderr)
        sys.exit(2)

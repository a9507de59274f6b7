"""One frozen pydantic model per command: its fields are the CLI options and the params.yaml keys."""

from pipeline.settings.base import Settings
from pipeline.settings.evaluate import Evaluate
from pipeline.settings.fill import Fill
from pipeline.settings.generate import Generate
from pipeline.settings.ingest import Ingest
from pipeline.settings.predict import Corpora, Predict
from pipeline.settings.preparse import Preparse
from pipeline.settings.pretrain import Pretrain
from pipeline.settings.report import Report
from pipeline.settings.train import Train

__all__ = ["COMMANDS", "Settings"]

COMMANDS: dict[str, tuple[type[Settings], str]] = {
    "ingest": (Ingest, "pipeline.stages.ingest"),
    "pretrain": (Pretrain, "pipeline.stages.pretrain"),
    "preparse": (Preparse, "pipeline.stages.preparse"),
    "generate": (Generate, "pipeline.stages.generate"),
    "train": (Train, "pipeline.stages.train"),
    "evaluate": (Evaluate, "pipeline.stages.evaluate"),
    "report": (Report, "pipeline.stages.report"),
    "fill": (Fill, "pipeline.tools.fill"),
    "predict": (Predict, "pipeline.tools.predict"),
    "corpora": (Corpora, "pipeline.tools.corpora"),
}
"""Command name → its settings and the module whose ``run(settings)`` carries it out."""

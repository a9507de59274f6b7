"""The tasks that there are, and whose a corpus is."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pipeline.core.corpus_folder import INGEST_RECORD, require_record, task_name
from pipeline.core.errors import InputError
from pipeline.tasks.arguments.task import ArgumentTask
from pipeline.tasks.coordination.task import CoordinationTask
from pipeline.tasks.protocol import Task
from pipeline.tasks.questions.task import QuestionTask
from pipeline.tasks.relations.task import RelationTask

TASKS: Mapping[str, Task[Any]] = {
    task.name: task for task in (CoordinationTask(), RelationTask(), ArgumentTask(), QuestionTask())
}
"""By name. A new one is a folder beside ``coordination`` and a line here."""


def task_of(corpus: Path) -> Task[Any]:
    """The task of a corpus, as its ``ingest.json`` names it; without a name it is coordination.

    Raises:
        InputError: this version knows no such task, or ``ingest`` did not finish.
    """
    require_record(corpus)
    name = task_name(corpus)
    if name not in TASKS:
        raise InputError(
            f"a corpus of the task {name!r}; there are: {', '.join(TASKS)}",
            path=corpus / INGEST_RECORD,
            remedy="use the version of conjoin that ingested it",
        )  # fmt: skip
    return TASKS[name]

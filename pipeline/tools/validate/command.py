"""``conjoin validate``: what is wrong with a corpus that came from anywhere."""

import json

from pipeline.core.console import say, table
from pipeline.tools.settings import Validate
from pipeline.tools.validate.checker import check_corpus
from pipeline.tools.validate.violations import Violations


def run(settings: Validate) -> None:
    """Print every kind of violation with its count and first examples.

    Raises:
        InputError: there is nothing to check.
        SystemExit: with code 1, after printing, if anything is wrong.
    """
    found = Violations(settings.examples)
    totals = check_corpus(settings.place, found)
    rows, files = sum(held.rows for held in totals.files.values()), len(totals.files)
    if settings.json_:
        say(json.dumps({"rows": rows, "files": files, "violations": found.to_dict()}, indent=2))
    else:
        _show(found, rows, files)
    if len(found):
        raise SystemExit(1)


def _show(found: Violations, rows: int, files: int) -> None:
    counts = found.counts()
    told = f"{rows:,} row{'s' * (rows != 1)} in {files:,} file{'s' * (files != 1)}"
    if not counts:
        say(f"{told}: no violations")
        return
    table("violations", ["kind", "count"], counts.items())
    for kind, count in counts.items():
        examples = found.examples(kind)
        more = f", the first {len(examples)}" if 0 < len(examples) < count else ""
        if examples:
            say(f"\n{kind} ({count:,}{more})")
        for each in examples:
            row = "" if each.row is None else f", row {each.row}"
            candidate = "" if each.candidate_id is None else f", candidate {each.candidate_id}"
            say(f"  {each.file}{row}{candidate}: {each.what}")
    violations, kinds = len(found), len(counts)
    say(
        f"\n{told}: {violations:,} violation{'s' * (violations != 1)} "
        f"of {kinds} kind{'s' * (kinds != 1)}; rows count from 0"
    )

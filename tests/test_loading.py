"""A release without conjoin: what its card and the documentation show is run as it stands there."""

import os
import re
import subprocess
import sys
from pathlib import Path

from shared_corpora import candidate_folder

from pipeline.mechanisms.release.card import training_program
from pipeline.settings.release import Release
from pipeline.stages.release import run

DOCS = Path(__file__).parents[1] / "docs"
ALONE = """
import sys
class NoConjoin:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {"pipeline", "conjoin"}:
            raise ModuleNotFoundError(name)
sys.meta_path.insert(0, NoConjoin())
"""
CHECKS = """
assert (len(rows), len(refused)) == ROWS, (len(rows), len(refused))
assert next(iter(stream)) == rows[0]
assert len(frame) == len(rows) == sum(count for _, count in counts.fetchall())
assert 0.4 < len(better) / len(rows) < 0.7
"""


def blocks(markdown: str) -> list[str]:
    return re.findall(r"^```python\n(.*?)^```", markdown, re.MULTILINE | re.DOTALL)


def test_programs_of_the_card_run_without_conjoin(tmp_path: Path) -> None:
    """All of the card's Python runs offline with conjoin out of reach, and the tagger's loss falls."""
    out = tmp_path / "out"
    run(Release(candidates=candidate_folder(tmp_path / "toy", 240), out=out, name="toy"))
    programs = blocks((out / "README.md").read_text())
    assert training_program("path/to/toy") + "\n" in programs
    text = "\n".join([ALONE, *programs, CHECKS.replace("ROWS", "(206, 34)")])
    done = subprocess.run(  # noqa: S603 - our own program
        [sys.executable, "-I", "-c", text.replace("path/to/toy", str(out))],
        env={**os.environ, "HF_HUB_OFFLINE": "1", "HF_HOME": str(tmp_path / "hf")},
        capture_output=True, text=True, check=False, cwd=tmp_path,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    losses = [float(line.split()[1]) for line in done.stdout.splitlines()]
    assert len(losses) == 3
    assert losses[-1] < losses[0] / 2


def test_documentation_shows_the_same_program() -> None:
    """The documentation trains the tagger with the card's program, to the letter."""
    pages = [page.read_text() for page in sorted(DOCS.glob("**/*.md"))]
    shown = [block for page in pages for block in blocks(page) if "torch.nn.LSTM" in block]
    assert shown == [training_program("path/to/release") + "\n"]

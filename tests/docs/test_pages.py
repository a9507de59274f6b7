"""The pages of the documentation: how long they are, where links lead, which commands are named."""

import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote

import pytest

from pipeline.cli import COMMANDS
from pipeline.core.corpora import CORPORA
from pipeline.core.settings import flag_of

ROOT = Path(__file__).resolve().parents[2]
DOCS = sorted((ROOT / "docs").rglob("*.md"))
PAGES = [
    *DOCS, *(ROOT / name for name in ("README.md", "CHANGELOG.md", "CONTRIBUTING.md")),
    *sorted((ROOT / "benchmarks").rglob("*.md")),
]  # fmt: skip
NAMES = [page.relative_to(ROOT).as_posix() for page in PAGES]


def words(*pages: Path) -> int:
    """As `wc -w` counts them."""
    return sum(len(page.read_text(encoding="utf-8").split()) for page in pages)


def test_pages_stay_short() -> None:
    """Who reads them has no more time than that; history is in git."""
    assert words(ROOT / "README.md") <= 700
    assert words(ROOT / "docs/results.md") <= 5_000
    assert words(*DOCS) <= 25_000
    assert words(ROOT / "CONTRIBUTING.md") <= 350
    assert words(ROOT / "CHANGELOG.md") <= 600
    assert all(words(page) <= 600 for page in DOCS if page.parent.name == "tutorials")


def without_code(text: str) -> str:
    return re.sub(r"^( *)```.*?^\1```", "", text, flags=re.MULTILINE | re.DOTALL)


def anchors(page: Path) -> set[str]:
    """The anchors of its headings, as GitHub makes them."""
    found: dict[str, int] = {}
    names = set()
    for heading in re.findall(
        r"^#+ +(.+?) *$", without_code(page.read_text(encoding="utf-8")), re.M
    ):
        plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).lower()
        name = re.sub(r"[^\w\- ]", "", plain).replace(" ", "-")
        count = found.get(name, 0)
        found[name] = count + 1
        names.add(f"{name}-{count}" if count else name)
    return names


@pytest.mark.parametrize("page", PAGES, ids=NAMES)
def test_links_lead_somewhere(page: Path) -> None:
    """Each relative link names a file that is there, and a heading that it has."""
    text = re.sub(r"`[^`\n]*`", "", without_code(page.read_text(encoding="utf-8")))
    for link in re.findall(r"\]\(([^)\s]+)\)", text):
        if re.match(r"[a-z]+:", link):
            continue
        place, _, anchor = unquote(link).partition("#")
        target = (page.parent / place).resolve() if place else page
        assert target.exists(), link
        if anchor and target.suffix == ".md":
            assert anchor in anchors(target), link


def commands(text: str) -> Iterator[list[str]]:
    """The words of each call of conjoin in the `sh` blocks; of the commands in one line, of each."""
    for block in re.findall(r"^ *```sh\n(.*?)^ *```", text, re.MULTILINE | re.DOTALL):
        typed = re.sub(r"<<'END'.*?^END$", "", block, flags=re.MULTILINE | re.DOTALL)
        for line in typed.replace("\\\n", " ").splitlines():
            if "conjoin " not in line:
                continue
            lexer = shlex.shlex(line, posix=True, punctuation_chars="|;&<>()")
            lexer.commenters, lexer.whitespace_split = "#", True
            call: list[str] = []
            for word in [*lexer, ";"]:
                if not re.fullmatch(r"[|;&<>()]+", word):
                    call.append(word)
                    continue
                if call[:1] == ["conjoin"]:
                    yield call[1:]
                call = []


@pytest.mark.parametrize("page", PAGES, ids=NAMES)
def test_commands_exist(page: Path) -> None:
    """Each command in a `sh` block is one of conjoin's, and so are its options and the reader it names."""
    for call in commands(page.read_text(encoding="utf-8")):
        assert call[0] in COMMANDS, call
        fields = COMMANDS[call[0]][0].model_fields
        known = {f"--{no}{flag_of(name)}" for name in fields for no in ("", "no-")} | {
            "--params",
            "--help",
        }
        given = {word.partition("=")[0] for word in call if word.startswith("--")}
        assert given <= known, (call, given - known)
        if call[0] == "ingest":
            assert call[1] in CORPORA, call

"""What each stage makes of small fixed inputs, pinned together with the stage's ALGORITHM number.

A fingerprint does not see the code, so that a comment makes nothing stale. What tells a folder that
other code would fill it with other rows is ALGORITHM, and these tests tell whoever changes rows to
raise it. Pinned is what is the same on every machine: words, ids, numbers of tokens, decisions that no
rounding can turn, floats to two digits in all.
"""

import json
import shutil
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import harvested
import pytest
import tiny
from shared_corpora import candidate_folder

from pipeline.audit import stage as audit
from pipeline.audit.settings import AuditSettings
from pipeline.core.documents import read_json
from pipeline.core.files import digest_of, write_text
from pipeline.core.fingerprint import code_digest
from pipeline.core.parquet import read_rows, write_rows
from pipeline.core.schema import (
    CANDIDATES,
    PREDICTIONS,
    REJECTS,
    SENTENCES,
    TREES,
    VERDICTS,
    candidate_row,
)
from pipeline.core.types import CATEGORIES, COLUMNS, Candidate, Span
from pipeline.evaluate import stage as evaluate
from pipeline.evaluate.settings import EvaluateSettings
from pipeline.generate import stage as generate
from pipeline.generate.settings import GenerateSettings
from pipeline.harvest import stage as harvest
from pipeline.ingest import stage as ingest
from pipeline.ingest.settings import IngestSettings
from pipeline.preparse import stage as preparse
from pipeline.preparse.settings import PreparseSettings
from pipeline.pretrain import stage as pretrain
from pipeline.pretrain.settings import PretrainSettings
from pipeline.release import stage as release
from pipeline.release.settings import ReleaseSettings
from pipeline.select import stage as select
from pipeline.select.settings import SelectSettings
from pipeline.train import stage as train

ROOT = Path(__file__).resolve().parents[1]
WORLD = ROOT / "data/raw/world"

GOLDEN = {
    "ingest": (3, "8264d95d2816a657"),
    "pretrain": (2, "831ae7167c882a86"),
    "preparse": (3, "a36a0b13e0b9ef0f"),
    "generate": (6, "1f9b53bd5ecb7a1d"),
    "harvest": (5, "242d99887263f3b9"),
    "select": (4, "234645d46df5b9ec"),
    "train": (6, "05dc328c14ad214d"),
    "evaluate": (2, "f237cf24fc25f07e"),
    "audit": (1, "d0bc5def30b21262"),
    "release": (1, "bc69aa6925a4f39f"),
}
"""By stage: ALGORITHM, and the first 16 hex digits of the digest of what it then makes."""


def check(stage: str, made: object) -> None:
    """Hold what a stage made, JSON-ready, against its pin."""
    algorithm = import_module(f"pipeline.{stage}.stage").ALGORITHM
    found, pinned = (algorithm, digest_of(made)[:16]), GOLDEN[stage]
    if found[1] != pinned[1] and algorithm == pinned[0]:
        pytest.fail(
            f"{stage}: rows changed: raise ALGORITHM in pipeline/{stage}/stage.py, and pin here "
            f"{(algorithm + 1, found[1])}, if that is meant; made now: {str(made)[:2000]}"
        )
    assert found == pinned, f"{stage}: pin {found} here"


def rows(schema: Any, *files: Path, without: tuple[str, ...] = ()) -> list[dict[str, Any]]:
    """The rows of Parquet files, without the columns that differ between machines."""
    every = [row for file in sorted(files) for row in read_rows(file, schema)]
    return [{key: row[key] for key in row if key not in without} for row in every]


def columns_since(number: int) -> tuple[str, ...]:
    """The columns of candidates that came with that format of releases or later."""
    return tuple(each.name for each in COLUMNS if each.since >= number)


def test_ingest(tmp_path: Path) -> None:
    """Sentences of the embedded world, and a draw of labelled ones."""
    ingest.run(
        IngestSettings(
            reader="world", source=WORLD, out=tmp_path, name="world", sentences=60, raw=20,
            labelled=["10"],
        )
    )  # fmt: skip
    draws = {p.name: read_json(p) for p in sorted((tmp_path / "draws").rglob("*.json"))}
    raw = (tmp_path / "text.txt").read_text()
    check("ingest", [rows(SENTENCES, tmp_path / "sentences.parquet"), draws, raw])


def test_pretrain(tmp_path: Path) -> None:
    """Tokens seen, and losses to two digits in all, of a few updates of a BERT and a T5."""
    lines = [f"The {noun} saw the old lamp near me ." for noun in tiny.NOUNS * 20]
    write_text(tmp_path / "text.txt", "".join(f"{line}\n" for line in lines))
    made = []
    for lm in ("bert", "t5"):
        settings = PretrainSettings(
            corpus=tmp_path, lm=lm, hidden=16, layers=1, heads=2, vocab_size=180, max_length=64,
            batch_size=8, steps=4, eval_every=2, dropout=0, learning_rate=1e-2,
        )  # fmt: skip
        pretrain.run(settings)
        folder = tmp_path / f"models/{lm}/seed-0"
        looks = map(json.loads, (folder / "history.jsonl").read_text().splitlines())
        seen = [(look["step"], look["epoch"], look["tokens"]) for look in looks]
        card = read_json(folder / "pretrain.json")
        kept = {key: card[key] for key in ("vocabulary", "parameters", "texts", "text_digest")}
        made.append([seen, kept, round(card["loss"], 1), round(card["validation_loss"], 1)])
    check("pretrain", made)


def trees(corpus: Path) -> list[dict[str, Any]]:
    """What ``preparse`` makes of the gold trees of a corpus."""
    preparse.run(PreparseSettings(corpus=corpus, parser="treebank", unit=8))
    return rows(TREES, *(corpus / "trees").glob("trees-*.parquet"))


def test_preparse(corpus: Path) -> None:
    """Trees of U, in units."""
    shutil.rmtree(corpus / "trees")
    check("preparse", trees(corpus))


def candidates(corpus: Path) -> list[Any]:
    """What ``generate`` makes with random models, but for the scores."""
    made = []
    kinds = [("free", "greedy", 1), ("free", "sample", 2), ("attested", "greedy", 1)]
    for lm in ("bert", "t5"):
        for fills, decoding, n in kinds:
            out = corpus / "golden" / f"{fills}-{lm}-{decoding}"
            given: dict[str, Any] = {
                "lm": lm,
                "decoding": decoding,
                "fills": fills,
                "n": n,
                "pool": 4,
            }
            given |= {"limit": 12, "out": out}
            generate.run(
                GenerateSettings(corpus=corpus, unit=6, batch_tokens=300, references=2, **given)
            )
            # The last columns go with structures that are asked for; the pin is older than they.
            left_out = ("score", "score_append", "score_prepend", *columns_since(4))
            for kind, schema in (("candidates", CANDIDATES), ("rejects", REJECTS)):
                made.append(rows(schema, *out.glob(f"{kind}-*.parquet"), without=left_out))
    return made


def test_generate(corpus: Path) -> None:
    """Candidates and rejects of a masked LM and a T5: written greedily and sampled, and attested."""
    check("generate", candidates(corpus))


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny corpus with a run of Algorithm 1."""
    corpus = tiny.build(tmp_path_factory.mktemp("golden") / "tiny")
    train.run(tiny.settings(corpus))
    return corpus


def test_train(trained: Path) -> None:
    """Which candidates were examined, and how often the predictor was right."""
    folder = trained / "runs/filter/40/seed-0"
    looks = tiny.history(folder)
    made = [(look["step"], round(look["loss"], 1), look["seen"]) for look in looks]
    examined = [(row["step"], row["candidate_id"]) for row in tiny.scored(folder)]
    check("train", [made, examined])


def test_evaluate(trained: Path) -> None:
    """Gold and predicted conjuncts, and the accuracies that they come to."""
    evaluate.run(EvaluateSettings(corpus=trained))
    made = rows(
        PREDICTIONS, *(trained / "evaluation/predictions").glob("*"), without=("probability",)
    )
    metrics = read_json(trained / "evaluation/metrics.json")
    papers = ("overall", *CATEGORIES)  # further columns follow where a corpus has other labels
    figures = [{name: entry["accuracy"][name] for name in papers} for entry in metrics["runs"]]
    check("evaluate", [made, figures])


def test_audit(tmp_path: Path) -> None:
    """The oracle's verdicts on hand-made candidates of the embedded world."""
    made = []
    for number, fill in enumerate(("the surgeon", "the baker", "the nurses", "the the the")):
        words = ("The", "nurse", "and", *fill.split(), "laughed", ".")
        spans = Span(0, 2), Span(3, len(words) - 2)
        of = (f"c{number}", f"s{number}", words, 2, spans, "NP", spans[0], fill, -1.0, -1.0, None)
        made.append(candidate_row(Candidate(*of, "Apache-2.0")))
    folder = tmp_path / "candidates/bert-sync/seed-0"
    write_rows(folder / "candidates-00000-of-00001.parquet", CANDIDATES, made)
    audit.run(AuditSettings(corpus=tmp_path, source=WORLD))
    check("audit", rows(VERDICTS, tmp_path / "audit/verdicts.parquet"))


def test_select(tmp_path: Path) -> None:
    """Which of 60 hand-made outcomes are chosen, and what the others are left out for."""
    places = [candidate_folder(tmp_path / "toy")] * 2
    select.run(
        SelectSettings(
            places=places, out=tmp_path / "out", label=["NP"], words="2-", min_score=-2.25,
            where="coordinator_word = 'and' AND sentence_words < 18", limit=9,
        )
    )  # fmt: skip
    manifest = read_json(tmp_path / "out/manifest.json")
    check("select", [manifest["digests"], manifest["selection"]["left_out"], manifest["tally"]])


def released(corpus: Path, out: Path) -> dict[str, str]:
    """The digests of a release of 60 hand-made outcomes."""
    release.run(ReleaseSettings(candidates=candidate_folder(corpus), out=out, name="golden"))
    digests: dict[str, str] = read_json(out / "manifest.json")["digests"]
    return digests


def test_release(tmp_path: Path) -> None:
    """The row digests that a release tells of itself."""
    check("release", released(tmp_path / "toy", tmp_path / "out"))


def test_changed_rows_fail_until_the_number_is_raised(
    corpus: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Other trees of the same sentences: "raise ALGORITHM"; when it is raised, the pin is asked for."""
    shutil.rmtree(corpus / "trees")
    monkeypatch.setattr(
        preparse, "_treebank_tree", lambda sentence, _: (sentence.tree.replace("NN", "NNS"), None)
    )
    made = trees(corpus)
    with pytest.raises(pytest.fail.Exception, match="preparse: rows changed: raise ALGORITHM"):
        check("preparse", made)
    monkeypatch.setattr(preparse, "ALGORITHM", GOLDEN["preparse"][0] + 1)
    with pytest.raises(AssertionError, match="preparse: pin"):
        check("preparse", made)


def test_harvest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows of the world's text by a parser that knows its trees, and counts of what gives none."""
    harvested.knowing(monkeypatch)
    corpus = harvested.with_ready_parser(harvested.corpus_of(tmp_path / "corpus"))
    out = tmp_path / "out"
    harvest.run(harvested.settings(corpus, out=out))
    made = [
        rows(schema, *out.glob(f"{kind}-*"), without=columns_since(5))  # younger than the pin
        for kind, schema in (("candidates", CANDIDATES), ("rejects", REJECTS))
    ]
    check("harvest", [*made, read_json(out / "manifest.json")["notes"]])


@pytest.mark.long
def test_a_comment_in_every_module_makes_nothing_stale(
    corpus: Path, tmp_path: Path, forks: Any
) -> None:
    """Trees, a model, candidates and a run are found current; and a release is the same bytes."""
    text = "".join(f"The {noun} saw the old lamp near me .\n" for noun in tiny.NOUNS * 20)
    write_text(corpus / "text.txt", text)
    shutil.rmtree(corpus / "trees")
    toy, own = candidate_folder(tmp_path / "toy"), tiny.build(tmp_path / "tiny")
    given: dict[str, dict[str, Any]] = {
        "preparse": {"corpus": corpus, "parser": "treebank"},
        "pretrain": {
            "corpus": corpus, "lm": "bert-own", "hidden": 16, "layers": 1, "heads": 2, "steps": 2,
            "vocab_size": 180, "max_length": 64,
        },
        "generate": {"corpus": corpus, "limit": 4, "batch_tokens": 300, "out": tmp_path / "out"},
        "train": tiny.settings(own, steps=4, warm_steps=2, resume=True).model_dump(),
    }  # fmt: skip
    copy = tmp_path / "copy"
    shutil.copytree(ROOT / "pipeline", copy / "pipeline")
    for module in (copy / "pipeline").rglob("*.py"):
        module.write_text(f"{module.read_text()}\n# a comment\n")

    def run() -> str:
        """Every stage with whatever code is found; returns the digest of that code."""
        every = given | {"release": {"candidates": toy, "out": tmp_path / "release"}}
        for stage, values in every.items():
            settings = getattr(
                import_module(f"pipeline.{stage}.settings"), f"{stage.capitalize()}Settings"
            )
            import_module(f"pipeline.{stage}.stage").run(settings(**values))
        digest: str = import_module("pipeline.core.fingerprint").code_digest()
        return digest

    def run_copy() -> None:
        for name in [name for name in sys.modules if name.partition(".")[0] == "pipeline"]:
            del sys.modules[name]
        sys.path.insert(0, str(copy))
        print("code:", run())

    assert run() == code_digest()
    sums = (tmp_path / "release/SHA256SUMS").read_text()
    files = [*corpus.rglob("*"), *(tmp_path / "out").rglob("*"), *(own / "runs").rglob("*")]
    written = {file: file.stat().st_mtime_ns for file in files if file.name.endswith("parquet")}
    log = tmp_path / "log"
    assert forks.end(forks.start(run_copy, log)) == 0, log.read_text()
    printed = log.read_text()
    assert "code: " in printed
    assert code_digest() not in printed
    # At the start and the end, of two stages.
    assert printed.count("1 of 1 shards are current\n") == 4
    assert "redoing" not in printed
    assert "bert-own/seed-0 is already there and current" in printed
    assert "this very run is finished" in printed
    assert {file: file.stat().st_mtime_ns for file in written} == written
    assert (tmp_path / "release/SHA256SUMS").read_text() == sums

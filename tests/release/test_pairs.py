"""New argument pairs as a dataset repository: rows, card, whose terms, and what refuses them."""

import json
import re
import shutil
import subprocess
from collections import Counter
from collections.abc import Generator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml
from confused import build
from tasks.relations import pairwise  # type: ignore[import-not-found]

from pipeline.cli import app
from pipeline.core.documents import read_json
from pipeline.core.errors import ConjoinError, InputError, SettingsError
from pipeline.core.files import sha256_of, write_json
from pipeline.core.parquet import write_rows
from pipeline.models.writers import asking
from pipeline.models.writers.protocol import Prompt, Sampling, WrittenAnswer
from pipeline.release.licence_files import notices
from pipeline.release.pairs.card import words
from pipeline.release.pairs.rows import NewPairs
from pipeline.release.settings import ReleaseSettings
from pipeline.release.stage import run
from pipeline.sharing.push.command import run as push
from pipeline.sharing.push.settings import PushSettings
from pipeline.sharing.validate import command as validate
from pipeline.sharing.validate.settings import ValidateSettings
from pipeline.tasks.relations.synthesize import rows as made_rows
from pipeline.tasks.relations.synthesize import stage as synthesize
from pipeline.tasks.relations.synthesize.settings import SynthesizeSettings
from pipeline.train import stage as train


class Canned:
    """A language model that writes two lines for each pair, one of them twice, and refuses some."""

    model, sampling, begun = "gpt", Sampling(), "continued"

    def answers(self, prompts: Sequence[Prompt]) -> Generator[tuple[int, WrittenAnswer]]:
        """See ``Answering``."""
        for place, prompt in enumerate(prompts):
            number = sum(map(ord, prompt.user))
            text = f" the man saw {number}\n- a lamp\n- a lamp" if prompt.begins else "Yes. No."
            if not prompt.begins and number % 3 == 0:
                text = "Yes."
            yield place, WrittenAnswer(text, "continued" if prompt.begins else "chat")


@pytest.fixture
def corpus(tmp_path: Path, tiny_bert: Path) -> Path:
    """A corpus, and a run whose model was never trained."""
    return build(tmp_path / "toy", tiny_bert)


def made(corpus: Path, name: str, **given: Any) -> Path:
    """A folder of new pairs."""
    usual = {"corpus": corpus, "run": "runs/baseline/24/seed-0", "k": 2, "out": corpus / name}
    synthesize.run(SynthesizeSettings.model_validate(usual | given))
    return corpus / name


def written(corpus: Path, monkeypatch: pytest.MonkeyPatch, **given: Any) -> Path:
    """The same by a language model behind an address."""
    monkeypatch.setattr(asking, "ServedWriter", lambda *_, **__: Canned())
    served = {"writer": "served", "served": "http://127.0.0.1:1", "model": "gpt"}
    return made(corpus, "candidates/written", **served | given)


def rows(folder: Path, pattern: str) -> list[dict[str, Any]]:
    return [r for path in sorted(folder.glob(pattern)) for r in pq.read_table(path).to_pylist()]


def test_a_language_models_pairs_are_released_with_all_that_is_known_of_them(
    corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The very rows with their run; whose, under which terms, which senses, k, filter, and why not."""
    folder = written(corpus, monkeypatch, writer_license="Apache-2.0")
    out = tmp_path / "release"
    run(ReleaseSettings(candidates=folder, out=out, author=["Doe, Jane"], shards=2))
    manifest = read_json(out / "manifest.json")
    (key,) = manifest["generations"]
    for config, kind, pattern in (
        ("train", "candidates-*", "data/*"), ("rejected", "rejects-*", "rejected/*"),
    ):  # fmt: skip
        kept = rows(folder, kind)
        found = rows(out, pattern)
        assert {row.pop("generation") for row in found} == {key}
        assert sorted(map(json.dumps, found)) == sorted(map(json.dumps, kept))
        assert manifest["rows"][config] == len(kept) > 0
        (first, *_) = sorted(out.glob(pattern))
        assert pq.read_schema(first).equals(NewPairs.released[config])
    assert len(list(out.glob("data/*"))) == 2
    assert (manifest["task"], manifest["name"]) == ("relations", "conjoin-toy-written-pairs")
    assert manifest["license"] == "Apache-2.0 AND CC-BY-4.0"
    assert manifest["sources"][0]["pairs"] == {"dev": 12, "train": 174}
    card = (out / "README.md").read_text()
    confusions = manifest["generations"][key]["inputs"]["confusions"]
    for true, predicted, errors, there in confusions:
        assert f"| `{true}` | `{predicted}` | {errors} | {there} |" in card
    assert "The model is `served:gpt`; its maker's terms on what it writes: `Apache-2.0`." in card
    assert "took the k = 2 largest confusions of 3 errors or more" in card
    assert "filter `writer`: who wrote a pair was asked" in card
    reasons = Counter(row["reason"] for row in rows(out, "rejected/*"))
    assert len(reasons) > 1
    for reason, count in reasons.items():
        assert f"| `{reason}` | {words('reasons')[reason]} | {count} |" in card
    labels = Counter((row["label"], row["confused"]) for row in rows(out, "data/*"))
    for (label, confused), count in labels.items():
        assert f"| `{label}` | `{confused}` | {count} |" in card
    head = yaml.safe_load(card.split("---")[1])
    assert "language" not in head
    assert head["task_categories"] == ["text-classification"]
    assert [c["config_name"] for c in head["configs"]] == ["default", "rejected"]
    assert "Apache License" in (out / "LICENSE").read_text()
    assert "a language model wrote second arguments" in (out / "LICENSE").read_text()
    assert yaml.safe_load((out / "CITATION.cff").read_text())["authors"][0]["given-names"] == "Jane"
    subprocess.run(["sha256sum", "-c", "SHA256SUMS"], cwd=out, check=True, capture_output=True)  # noqa: S607
    # Made again in its place, of itself too, it is the same.
    before = {path: path.read_bytes() for path in sorted(out.rglob("*")) if path.is_file()}
    run(ReleaseSettings(candidates=folder, out=out, author=["Doe, Jane"], shards=2))
    assert {p: p.read_bytes() for p in sorted(out.rglob("*")) if p.is_file()} == before
    run(ReleaseSettings(candidates=out, out=tmp_path / "again"))
    assert read_json(tmp_path / "again/manifest.json")["digests"] == manifest["digests"]


def test_unknown_terms_are_refused_and_not_overridden(
    corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`--license` is of the source; what a language model wrote is under its maker's terms."""
    folder = written(corpus, monkeypatch)
    out = tmp_path / "release"
    for given in ({}, {"license": "CC-BY-4.0"}):
        with pytest.raises(InputError, match=r"unknown.*--writer-license"):
            run(ReleaseSettings(candidates=folder, out=out, **given))
    assert not out.exists()
    # Where nothing is known of the source either, the row says no more than `unknown`.
    bare = tmp_path / "bare"
    shutil.copytree(folder, bare)
    _relicensed(bare, "unknown")
    with pytest.raises(InputError, match=r"unknown.*--writer-license"):
        run(ReleaseSettings(candidates=bare, out=out, license="CC-BY-4.0"))
    attested = made(corpus, "candidates/attested", filter="none")
    _relicensed(attested, "unknown")
    with pytest.raises(InputError, match=r"unknown.*`--license`"):
        run(ReleaseSettings(candidates=attested, out=out))
    run(ReleaseSettings(candidates=attested, out=out, license="CC-BY-4.0"))
    assert {row["license"] for row in rows(out, "data/*")} == {"CC-BY-4.0"}
    _relicensed(attested, "LDC-User-Agreement")
    with pytest.raises(InputError, match="no release without them"):
        run(ReleaseSettings(candidates=attested, out=tmp_path / "ldc"))


def _relicensed(folder: Path, license_: str) -> None:
    """Give all rows another licence, and the manifest what it says of the files."""
    manifest = read_json(folder / "manifest.json")
    for shard in manifest["shards"]:
        path = folder / shard["file"]
        table = pq.read_table(path)
        changed = [{**row, "license": license_} for row in table.to_pylist()]
        write_rows(path, table.schema, changed)
        shard |= {"bytes": path.stat().st_size, "sha256": sha256_of(path)}
    write_json(folder / "manifest.json", manifest)


def test_explicit_pairs_are_nobodys_writing(corpus: Path, tmp_path: Path) -> None:
    """Their card names no model; a folder without rejects has one configuration."""
    out = tmp_path / "release"
    run(ReleaseSettings(candidates=made(corpus, "candidates/a", filter="none", k=1), out=out))
    manifest, card = read_json(out / "manifest.json"), (out / "README.md").read_text()
    assert manifest["name"] == "conjoin-toy-attested-pairs"
    assert "No language model wrote for it." in card
    assert "filter `none`: nobody refused" in card
    assert ("Nothing was refused." in card) is (manifest["rows"]["rejected"] == 0)
    head = yaml.safe_load(card.split("---")[1])
    assert head["language_creators"] == head["annotations_creators"] == ["found"]
    assert "| annotation | by people, of pairs with their connective;" in card
    assert "A sense is the one that people gave a pair with its connective" in card
    assert "written for, not one that people gave" not in card
    assert "They were made for senses that a model takes for\nothers" in card


def test_pairs_of_any_sense_are_said_to_be_the_control(corpus: Path, tmp_path: Path) -> None:
    made_of_any = made(corpus, "candidates/random", filter="none", confused="random")
    run(ReleaseSettings(candidates=made_of_any, out=tmp_path / "released"))
    card = (tmp_path / "released/README.md").read_text()
    assert "They are of any sense, the control for such as are made for senses" in card
    assert "What a model confuses was counted" not in card


def test_training_reads_the_release_as_it_reads_the_folder(tmp_path: Path) -> None:
    """The same predictor, bit for bit."""
    corpus = pairwise.build(tmp_path / "small")
    folder = made(
        _with_run(corpus), "candidates/a", filter="none", least_errors=1, run="runs/baseline/36/seed-0"
    )  # fmt: skip
    run(ReleaseSettings(candidates=folder, out=tmp_path / "release"))
    digests = set()
    for candidates in (folder, tmp_path / "release"):
        out = tmp_path / f"run-of-{candidates.name}"
        train.run(pairwise.settings(corpus, mode="no-filter", candidates=candidates, out=out))
        digests.add(sha256_of(out / "predictor/model.safetensors"))
    assert len(digests) == 1


def _with_run(corpus: Path) -> Path:
    """The corpus with explicit pairs, and a run of few steps."""
    from dataclasses import replace  # noqa: PLC0415

    from pipeline.core.corpus_folder import RELATIONS_FILE, ingest_output  # noqa: PLC0415
    from pipeline.core.files import FileFacts  # noqa: PLC0415
    from pipeline.core.pairs import read_pairs, write_pairs  # noqa: PLC0415

    pairs = list(read_pairs(corpus, None, None))
    explicit = [
        replace(pairwise.pair(n), kind="explicit", connective="but") for n in range(200, 230)
    ]
    write_pairs(corpus, [*pairs, *explicit])
    record = ingest_output(corpus).require()
    files = {**record.files, RELATIONS_FILE: FileFacts.of(corpus / RELATIONS_FILE)}
    ingest_output(corpus).finish(files, record.facts)
    train.run(pairwise.settings(corpus, mode="baseline", steps=2, warm_steps=0, eval_every=1))
    return corpus


@pytest.mark.parametrize(
    ("given", "what"),
    [({"stand_off": True}, "have no --stand-off"), ({"trees": True}, "have no --trees")],
)
def test_options_of_coordination_are_refused(
    corpus: Path, tmp_path: Path, given: dict[str, Any], what: str
) -> None:
    """In one line."""
    folder = made(corpus, "candidates/a", filter="none")
    with pytest.raises(SettingsError, match=what):
        run(ReleaseSettings(candidates=folder, out=tmp_path / "release", **given))


def test_a_row_that_is_not_its_contents_is_refused(corpus: Path, tmp_path: Path) -> None:
    """Whatever the manifest says of the file."""
    folder = made(corpus, "candidates/a", filter="none")
    (path, *_) = folder.glob("candidates-*")
    table = pq.read_table(path)
    changed = table.to_pylist()
    changed[1]["arg2"] += " not"
    write_rows(path, table.schema, changed)
    _settled(folder, path)
    with pytest.raises(InputError, match=r"row 2 of its candidates has an id .* its content's"):
        run(ReleaseSettings(candidates=folder, out=tmp_path / "release"))


def _settled(folder: Path, path: Path) -> None:
    """Have the manifest say what a changed file is."""
    manifest = read_json(folder / "manifest.json")
    (shard,) = (each for each in manifest["shards"] if each["file"] == path.name)
    shard |= {"bytes": path.stat().st_size, "sha256": sha256_of(path)}
    write_json(folder / "manifest.json", manifest)


def test_a_null_is_refused(corpus: Path, tmp_path: Path) -> None:
    """In one line, that says what finds the others."""
    folder = made(corpus, "candidates/a", filter="none")
    (path, *_) = folder.glob("candidates-*")
    table = pq.read_table(path)
    place, nothing = table.schema.get_field_index("label"), pa.nulls(len(table), pa.string())
    pq.write_table(table.set_column(place, "label", nothing), path)
    _settled(folder, path)
    with pytest.raises(InputError, match=r"null in column 'label'; `conjoin validate` says"):
        run(ReleaseSettings(candidates=folder, out=tmp_path / "release"))


@pytest.mark.parametrize(
    ("column", "value", "what"),
    [
        ("score", float("nan"), "has the score nan"),
        ("score", float("inf"), "has the score inf"),
        ("writer", "a\x1b[2J", "has a control character in its writer"),
        ("confused", "a\u202eb", "has a control character in its confused"),
        ("prompt", "a\nb", "has a control character in its prompt"),
    ],
)
def test_no_number_and_no_control_character_goes_on(
    corpus: Path, tmp_path: Path, column: str, value: object, what: str
) -> None:
    """As `validate` has it of rows of coordination."""
    folder = made(corpus, "candidates/a", filter="none")
    (path, *_) = folder.glob("candidates-*")
    table = pq.read_table(path)
    write_rows(path, table.schema, [{**row, column: value} for row in table.to_pylist()])
    _settled(folder, path)
    with pytest.raises(InputError, match=re.escape(what)):
        run(ReleaseSettings(candidates=folder, out=tmp_path / "release"))


def test_pairs_of_another_corpus_are_not_said_to_be_of_this_one(
    corpus: Path, tmp_path: Path, tiny_bert: Path
) -> None:
    """Named, it is an error; found above, the source is left unnamed."""
    folder = made(corpus, "candidates/a", filter="none")
    other = pairwise.build(tmp_path / "small")
    with pytest.raises(InputError, match="pairs that this corpus does not have"):
        run(ReleaseSettings(candidates=folder, out=tmp_path / "release", corpus=other))
    shutil.copytree(folder, other / "candidates/a")
    run(ReleaseSettings(candidates=other / "candidates/a", out=tmp_path / "release"))
    assert read_json(tmp_path / "release/manifest.json")["sources"] == []


def test_commands_for_coordination_say_whose_release_it_is(
    corpus: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """In one line that names the task; push shows what it would send."""
    out = tmp_path / "release"
    run(ReleaseSettings(candidates=made(corpus, "candidates/a", filter="none"), out=out))
    with pytest.raises(SystemExit):
        app(["stats", str(out)])
    assert "one of the task 'relations'" in capsys.readouterr().err
    push(PushSettings(release=out, repository="owner/name"))
    assert "Nothing was sent" in capsys.readouterr().out


def test_pairs_of_ones_own_are_not_said_to_be_gums() -> None:
    """The reader of the PDTB's form reads anybody's relations: GUM's authors are named on a condition."""
    (notice,) = notices({"sources": [{"corpus": "mine", "reader": "pdtb"}]}, ["mine"])
    assert "GUM" not in notice.source
    assert notice.url == ""
    assert notice.attribution.startswith("If they are those of GUM")


def test_every_reason_and_column_is_explained() -> None:
    """A new one needs its words in the card."""
    reasons = {
        value for name, value in vars(made_rows).items() if name.isupper() and isinstance(value, str)
        and name not in {"RELATIONS_FILE", "SYNTHETIC"}
    }  # fmt: skip
    assert reasons == set(words("reasons"))
    assert set(NewPairs.released["rejected"].names) == set(words("columns"))
    assert issubclass(InputError, ConjoinError)


@pytest.mark.parametrize(
    "given", [{"name": "a\x1b[2J"}, {"name": " "}, {"author": ["A", "b\nc"]}, {"author": [""]}]
)
def test_cards_show_names_that_can_be_printed(tmp_path: Path, given: dict[str, Any]) -> None:
    """Of whatever release."""
    with pytest.raises(SettingsError, match="no control character: cards show it"):
        ReleaseSettings.build({"candidates": tmp_path, "out": tmp_path / "x"} | given, None)


def test_validate_takes_them(
    corpus: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The folder, its release, and one that somebody touched."""
    folder, out = made(corpus, "candidates/a", filter="none"), tmp_path / "release"
    run(ReleaseSettings(candidates=folder, out=out))
    for place in (folder, out):
        validate.run(ValidateSettings(place=place))
        assert "no violations" in capsys.readouterr().out
    (path, *_) = out.glob("data/*")
    table = pq.read_table(path)
    write_rows(path, table.schema, [row | {"arg2": "a\x1b[2J"} for row in table.to_pylist()])
    with pytest.raises(SystemExit):
        validate.run(ValidateSettings(place=out))
    said = capsys.readouterr().out
    for kind in ("id differs from content", "checksum differs", "row digest differs from manifest"):
        assert kind in said
    with pytest.raises(SettingsError, match="these are argument pairs"):
        validate.run(ValidateSettings(place=out, apart=["dev"]))

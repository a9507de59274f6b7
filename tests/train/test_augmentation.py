"""`train --augment`: which words change, what they become, where labels then are."""

import json
import math
import os
import shutil
import signal
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import tiny
from augmented import augmentation, build
from tiny import digest, history, scored, settings
from transformers import BertConfig, BertModel

from pipeline.core.documents import read_json
from pipeline.core.draws import read_draw
from pipeline.core.errors import InputError, ModelError, SettingsError
from pipeline.core.schema import read_sentences
from pipeline.core.types import COORDINATORS, Coordination, Sentence, Span
from pipeline.infill.base import Fill
from pipeline.tasks.augmentation import Material
from pipeline.tasks.coordination import substitutions
from pipeline.tasks.coordination.examples import CoordinationExample, protected
from pipeline.tasks.coordination.substitutions import Change, substituted, without
from pipeline.text.coarse_tags import COARSE, classes_of, coarse
from pipeline.train import stage as train
from pipeline.train.augmentation.kinds import SETTINGS, kinds_of
from pipeline.train.learner import Learner
from pipeline.train.settings import TrainSettings
from pipeline.train.stream import AugmentedStream, LabelledStream

MODES = ["multi-argmax", "multi-sample", "single-argmax", "single-sample"]
EVERY = [
    ("copy", {}),
    ("mask", {}),
    *[("fill", {"fill_mode": m}) for m in MODES],
    ("substitute", {}),
]
IDS = ["copy", "mask", *MODES, "substitute"]


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The tiny corpus with parts of speech and trees of U."""
    return build(tmp_path_factory.mktemp("data") / "tiny")


@pytest.fixture(scope="module")
def labelled(corpus: Path) -> list[Sentence]:
    """Its L."""
    return read_draw(corpus, 0, "40")[0]


def short(**given: Any) -> dict[str, Any]:
    """Settings of a run of a second."""
    return {"steps": 8, "warm_steps": 3, "eval_every": 4, **given}


def test_every_penn_tag_has_one_class() -> None:
    """Those of the GENIA, GUM and Penn treebanks, and what none of them has."""
    every = [tag for tags in COARSE.values() for tag in tags]
    assert len(set(every)) == len(every)
    wanted = {"NNPS": "NOUN", "MD": "VERB", "TO": "ADP", "-LRB-": "SYM", "WP$": "PRON", "?!": "X"}
    assert {tag: coarse(tag) for tag in wanted} == wanted


@pytest.mark.parametrize(
    ("name", "classes"),
    [
        ("all", None), ("VERB", {"VERB"}), ("NOUN+ADJ", {"NOUN", "ADJ"}),
        ("all-VERB-SYM", set(COARSE) - {"VERB", "SYM"}),
    ],
)  # fmt: skip
def test_sets_of_classes_have_names(name: str, classes: set[str] | None) -> None:
    """Some, or all but some."""
    assert classes_of(name) == classes


@pytest.mark.parametrize("name", ["", "verb", "all-", "VERB-NOUN", "all+VERB", "NOUN+"])
def test_other_names_are_refused(tmp_path: Path, name: str) -> None:
    """With what there is."""
    with pytest.raises(SettingsError, match=r"train\.mask_tags = .*say all, all-VERB, NOUN or"):
        TrainSettings.build({"corpus": tmp_path, "mode": "baseline", "mask_tags": name}, None)


def test_what_links_conjuncts_is_protected() -> None:
    """Coordinators, annotated or not; commas and other words between conjuncts; both, either, neither."""
    words = (
        "Either", "cats", ",", "dogs", ",", "or", "then", "both", "fish", "and", "cows", "saw", "it", ",",
        "but", "we", "ran", "+",
    )  # fmt: skip
    tags = (
        "CC", "NNS", ",", "NNS", ",", "CC", "RB", "CC", "NNS", "CC", "NNS", "VBD", "PRP", ",",
        "CC", "PRP", "VBD", "CC",
    )  # fmt: skip
    inner = Coordination(9, "and", "NP", (Span(8, 9), Span(10, 11)))
    outer = Coordination(5, "or", "NP", (Span(1, 2), Span(3, 4), Span(7, 11)))
    sentence = Sentence("s", "d", "train", words, tags, None, (inner, outer), "CC0-1.0")
    assert protected(sentence) == {0, 2, 4, 5, 6, 7, 9, 14, 17}
    untagged = replace(sentence, tags=None)
    assert protected(untagged) == {0, 2, 4, 5, 6, 7, 9, 14}


def changed(material: Material, variants: list[CoordinationExample]) -> list[set[int]]:
    """The words of each example that differ in its variant of as many words."""
    return [
        {
            i
            for i, (a, b) in enumerate(zip(each.example.words, variant.words, strict=True))
            if a != b
        }
        for each, variant in zip(material.labelled, variants, strict=True)
    ]


@pytest.mark.parametrize("mask_tags", ["all", "NOUN", "all-NOUN", "VERB", "all-VERB-SYM"])
@pytest.mark.parametrize(("kind", "mode"), [("mask", MODES[0]), *[("fill", m) for m in MODES]])
def test_protected_words_and_tags_outside_s_never_change(
    corpus: Path, labelled: list[Sentence], kind: str, mode: str, mask_tags: str
) -> None:
    """With α = 1 all the others may; a sentence keeps its number of words, and labels their places."""
    made, material = augmentation(
        kind, corpus, labelled, mask_tags=mask_tags, alpha=1.0, fill_mode=mode
    )
    classes = classes_of(mask_tags) or frozenset(COARSE)
    variants = made.variants(3)
    for each, variant, places in zip(
        material.labelled, variants, changed(material, variants), strict=True
    ):
        sentence = each.sentence
        assert sentence.tags
        open_ = {i for i, tag in enumerate(sentence.tags) if coarse(tag) in classes}
        open_ -= protected(sentence)
        assert places <= open_
        assert kind == "fill" or places == open_
        assert variant == replace(each.example, words=variant.words, variant=True)


def test_one_mask_a_word_however_many_subwords(corpus: Path) -> None:
    """The encoder reads a masked word as its mask token alone."""
    long = Sentence(
        "s", "d", "train", ("qzqzqz", "cats", "and", "dogs", "qzqz"), None, None,
        (Coordination(2, "and", "NP", (Span(1, 2), Span(3, 4))),), "CC0-1.0",
    )  # fmt: skip
    made, material = augmentation("mask", corpus, [long], alpha=1.0)
    (variant,), encoding = made.variants(0), material.encoding
    assert variant.words == ("[MASK]", "[MASK]", "and", "[MASK]", "[MASK]")
    before, after = encoding.encode([long.words, variant.words])
    assert len(before.ids) > len(after.ids) == 5 + 2
    assert after.ids.count(encoding.tokenizer.mask_token_id) == 4


def test_draws_are_bernoulli_by_seed_epoch_sentence_and_word(
    corpus: Path, labelled: list[Sentence]
) -> None:
    """The same in the same epoch, of whatever L; other ones in another, of another seed; α of the words."""
    made, material = augmentation("mask", corpus, labelled)
    first = made.variants(0)
    assert augmentation("mask", corpus, labelled)[0].variants(0) == made.variants(0) == first
    assert augmentation("mask", corpus, labelled[5:9])[0].variants(0) == first[5:9]
    others = [made.variants(1), augmentation("mask", corpus, labelled, seed=1)[0].variants(0)]
    assert all(variants != first for variants in others)
    more = augmentation("mask", corpus, labelled, alpha=0.8)[0].variants(0)
    for few, many in zip(changed(material, first), changed(material, more), strict=True):
        assert few <= many
    open_ = sum(len(each.sentence.words) - 1 for each in material.labelled)
    drawn = sum(map(len, changed(material, [*first]))) + sum(
        map(len, changed(material, made.variants(7)))
    )
    assert abs(drawn / (2 * open_) - 0.5) < 4 * math.sqrt(0.25 / (2 * open_))


@pytest.mark.parametrize("mode", MODES)
def test_fills_are_whole_words(corpus: Path, labelled: list[Sentence], mode: str) -> None:
    """No special token, no piece of a word, no coordinator; argmax and sample are not alike."""
    made, material = augmentation("fill", corpus, labelled, alpha=1.0, fill_mode=mode)
    filler = made._filler  # type: ignore[attr-defined]
    tokenizer = filler._encoding.tokenizer
    fills = {
        variant.words[i]
        for epoch in range(3)
        for variants in [made.variants(epoch)]
        for variant, places in zip(variants, changed(material, variants), strict=True)
        for i in places
    }
    assert fills
    for word in fills:
        ids = tokenizer([["a", word]], is_split_into_words=True, add_special_tokens=False)
        assert len(ids["input_ids"][0]) == 2
        assert not word.startswith("##")
        assert word not in tokenizer.all_special_tokens
        assert word.lower() not in COORDINATORS
    assert {i for i, w in filler._words.items() if w.startswith("##")} == set()
    assert not set(tokenizer.all_special_ids) & filler._words.keys()


def test_a_fill_is_a_word_that_the_encoder_knows(
    corpus: Path, labelled: list[Sentence], tmp_path: Path
) -> None:
    """Another language model may have words that the predictor would read as unknown."""
    own = augmentation("fill", corpus, labelled)[0]._filler._words  # type: ignore[attr-defined]
    place, word = next((i, word) for i, word in own.items() if word.isalpha())
    other = shutil.copytree(corpus / "models/bert", tmp_path / "other")
    tokenizer = read_json(other / "tokenizer.json")
    vocabulary = tokenizer["model"]["vocab"]
    vocabulary["\u03c8\u03c8"] = vocabulary.pop(word)
    (other / "tokenizer.json").write_text(json.dumps(tokenizer), encoding="utf-8")
    made = augmentation("fill", corpus, labelled, lm=str(other))[0]
    words = made._filler._words  # type: ignore[attr-defined]
    assert own.keys() - words.keys() == {place}
    assert "\u03c8\u03c8" not in words.values()


def test_multi_hides_all_words_and_single_one(corpus: Path, labelled: list[Sentence]) -> None:
    """What the language model is shown, and the sentence that its words are merged into."""
    for amount, most in (("multi", 40), ("single", 1)):
        made, material = augmentation("fill", corpus, labelled, fill_mode=f"{amount}-argmax")
        filler: Any = made._filler  # type: ignore[attr-defined]
        asked = []

        def fill(blanks: Any, sampled: Any, asked: list[Any] = asked) -> Any:
            asked.extend(blanks)
            assert sampled is None
            return [tuple(f"{place}!" for place in blank.places) for blank in blanks]

        filler.fill = fill
        variants = made.variants(0)
        assert max(len(blank.places) for blank in asked) <= most
        assert all(blank.words.count("[MASK]") == len(blank.places) for blank in asked)
        wanted = changed(material, augmentation("mask", corpus, labelled)[0].variants(0))
        for variant, own, places in zip(variants, material.labelled, wanted, strict=True):
            assert variant.words == tuple(
                f"{i}!" if i in places else word for i, word in enumerate(own.example.words)
            )


def test_boundaries_move_with_a_substituted_span() -> None:
    """Longer and shorter ones, in a structure within a structure and behind it."""
    words = ("x", "a", "b", "and", "c", "or", "d", "y", "e", "and", "f")
    example = CoordinationExample(words, (3, 5, 9), (Span(1, 5), Span(1, 7), Span(8, 11)))
    made = substituted(example, [Change(Span(1, 3), ("A",)), Change(Span(8, 9), ("E", "E", "E"))])
    assert made.words == ("x", "A", "and", "c", "or", "d", "y", "E", "E", "E", "and", "f")
    assert made.coordinators == (2, 4, 10)
    assert made.extents == (Span(1, 4), Span(1, 6), Span(7, 12))
    assert substituted(example, []) == example


def test_the_reference_is_the_structure_without_a_conjunct() -> None:
    """Its other conjuncts, its coordinator and either; the first of them is the span."""
    words = ("we", "saw", "either", "a", "b", ",", "c", ",", "or", "d", "here")
    gold = Coordination(8, "or", "NP", (Span(3, 5), Span(6, 7), Span(9, 10)))
    sentence = Sentence("s", "d", "train", words, None, None, (gold,), "CC0-1.0")
    found = without(sentence, gold, 0)
    assert found.words == ("we", "saw", "c", "here")
    assert found.words[found.span.start : found.span.end] == ("c",)
    assert [each.words for each in found.placed] == [("d",)]
    assert found.structure is not None
    assert (found.structure.coordinator, found.structure.preconjunction) == ("or", "either")
    assert (found.structure.conjuncts, found.structure.comma) == (3, True)


def test_substitutes_stand_where_the_labels_say(
    corpus: Path, labelled: list[Sentence], monkeypatch: pytest.MonkeyPatch
) -> None:
    """One conjunct of each structure is another noun phrase of U; nothing of what is held out is offered."""
    seen: list[Fill] = []
    chosen = substitutions.fill_attested

    def noted(*given: Any, **more: Any) -> list[list[Fill]]:
        found = chosen(*given, **more)
        seen.extend(each[0] for each in found)
        return found

    monkeypatch.setattr(substitutions, "fill_attested", noted)
    made, material = augmentation("substitute", corpus, labelled, alpha=1.0)
    phrases = set()
    changes = 0
    for epoch in range(4):
        for each, variant in zip(material.labelled, made.variants(epoch), strict=True):
            (gold,), (k,), (extent,) = (
                each.sentence.coordinations,
                variant.coordinators,
                variant.extents,
            )
            words = each.sentence.words
            was = [words[s.start : s.end] for s in gold.conjuncts]
            now = [variant.words[extent.start : k], variant.words[k + 1 : extent.end]]
            assert variant.words[k] == "and"
            assert variant.words[: extent.start] == words[: gold.start]
            assert variant.words[extent.end :] == words[gold.end :]
            assert sum(a != b for a, b in zip(was, now, strict=True)) <= 1
            changes += was != now
            phrases |= {tuple(b) for a, b in zip(was, now, strict=True) if a != b}
    assert changes > 100
    assert len({len(phrase) for phrase in phrases}) > 1
    donors = {fill.attested.donor.sentence_id for fill in seen if fill.attested}
    every = {s.sentence_id: s for s in read_sentences(corpus / "sentences.parquet")}
    assert len(donors) > 10
    assert all(name.startswith("u") and every[name].split == "train" for name in donors)
    assert not any(every[name].coordinations for name in donors)


def test_a_variant_too_long_for_the_encoder_is_its_example(
    corpus: Path, labelled: list[Sentence], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a donor would push over the limit stays as it was."""
    made, material = augmentation("substitute", corpus, labelled, alpha=1.0)
    long = Change(Span(0, 0), ("we",) * 40)
    monkeypatch.setattr(
        substitutions, "substituted", lambda example, _: substituted(example, [long])
    )
    assert made.variants(0) == [replace(each.example, variant=True) for each in material.labelled]


def test_a_batch_has_each_example_and_its_variant(corpus: Path, labelled: list[Sentence]) -> None:
    """From any position on, as if read from the beginning; the originals are those of a run without."""
    made, material = augmentation("mask", corpus, labelled)
    examples = [each.example for each in material.labelled]
    plain, stream = LabelledStream(examples, 3), AugmentedStream(examples, 3, made)
    for position, count in ((0, 16), (33, 16), (95, 4), (0, 16), (200, 90)):
        sampled = stream.sample(position, count)
        assert sampled[:count] == plain.sample(position, count)
        for place, (own, variant) in enumerate(
            zip(sampled, sampled[count:], strict=False), position
        ):
            index = examples.index(own)
            assert variant == made.variants(place // len(examples))[index]
        assert AugmentedStream(examples, 3, made).sample(position, count) == sampled


def weights(run: Path) -> dict[str, str]:
    """All that a run wrote, but for what it tells of its settings."""
    return {name: value for name, value in digest(run).items() if name != "run.json"}


def test_alpha_0_is_copy(corpus: Path, tmp_path: Path) -> None:
    """Bit for bit, among candidates."""
    train.run(settings(corpus, augment="copy", out=tmp_path / "copy", **short()))
    for (kind, given), name in zip(EVERY[1:], IDS[1:], strict=True):
        train.run(settings(corpus, augment=kind, alpha=0.0, out=tmp_path / name, **short(**given)))
        assert weights(tmp_path / name) == weights(tmp_path / "copy")


def test_each_kind_learns_something_else_and_says_so(corpus: Path, tmp_path: Path) -> None:
    """run.json has the settings that count, and no others; without variants it has none of them."""
    seen = set()
    for kind, given in [("none", {}), *EVERY[:3], EVERY[-1]]:
        out = tmp_path / f"{kind}{len(seen)}"
        train.run(settings(corpus, mode="baseline", augment=kind, out=out, **short(**given)))
        run = read_json(out / "run.json")
        recorded = SETTINGS & run["settings"].keys()
        assert recorded == (
            set() if kind == "none" else {"augment", *kinds_of(tiny.COORDINATION)[kind].takes}
        )
        assert ("augmentation" in run) == (kind != "none")
        if kind in ("fill", "substitute"):
            assert run["augmentation"]["language model"] == run["model"]
        seen.add(history(out)[-1]["loss"])
    assert len(seen) == 5


def test_a_run_without_variants_is_known_whatever_their_settings(
    corpus: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """As are those made before there were any; variants, another α and another model make another run."""

    def again(**given: Any) -> bool:
        usual = short(mode="baseline", resume=True, steps=2, out=tmp_path / "run")
        train.run(settings(corpus, **usual | given))
        return "this very run is finished" in capsys.readouterr().out

    other = tmp_path / "other"
    shutil.copytree(corpus / "models/bert", other)
    config = other / "config.json"
    config.write_text(config.read_text() + "\n")
    assert not again()
    assert again(alpha=0.3, mask_tags="NOUN", fill_mode="multi-sample", augment_lm="models/no")
    assert not again(augment="fill")
    assert again(augment="fill", augment_lm="models/bert", alpha=0.5) is False
    assert not again(augment="fill", alpha=0.3)
    assert not again(augment="fill", alpha=0.3, augment_lm=str(other))
    assert again(augment="fill", alpha=0.3, augment_lm=str(other))


def die_in(step: int) -> None:
    """Have this process kill itself after an update."""
    update = Learner.update

    def dying(self: Learner, *given: Any) -> None:
        update(self, *given)
        if self.step == step:
            os.kill(os.getpid(), signal.SIGKILL)

    Learner.update = dying  # type: ignore[method-assign]


@pytest.mark.parametrize(("kind", "given"), EVERY, ids=IDS)
def test_kills_change_nothing(
    corpus: Path, tmp_path: Path, forks: Any, kind: str, given: dict[str, Any]
) -> None:
    """In the middle of an epoch, of which the next checkpoint is some steps back."""
    usual = short(augment=kind, checkpoint_every=2, **given)
    train.run(settings(corpus, out=tmp_path / "whole", **usual))
    killed = settings(corpus, out=tmp_path / "killed", resume=True, **usual)

    def work() -> None:
        die_in(7)
        train.run(killed)

    assert forks.end(forks.start(work)) == -signal.SIGKILL
    train.run(killed)
    assert digest(tmp_path / "killed") == digest(tmp_path / "whole")


@pytest.mark.parametrize("kind", ["mask", "fill"])
def test_without_dropout_a_team_is_one_process(
    corpus: Path,
    tmp_path: Path,
    start: Callable[..., list[int]],
    forks: Any,
    kind: str,
) -> None:
    """Same losses to five digits, same candidates accepted."""
    usual = short(augment=kind, dropout=0.0, encoder_dropout=0.0, n_batch=5, k=3, k_max=6)
    train.run(settings(corpus, out=tmp_path / "one", **usual))
    ranks = start(*[lambda: train.run(settings(corpus, out=tmp_path / "two", **usual))] * 2)
    assert [forks.end(rank) for rank in ranks] == [0, 0], (tmp_path / "log-0").read_text()
    for entry, same in zip(history(tmp_path / "two"), history(tmp_path / "one"), strict=True):
        assert entry["loss"] == pytest.approx(same["loss"], abs=1e-4)
    names = [[row["candidate_id"] for row in scored(tmp_path / n)] for n in ("one", "two")]
    assert names[0] == names[1]


@pytest.mark.parametrize("mode", ["filter", "no-filter", "self-train"])
def test_variants_stand_beside_candidates_of_any_mode(
    corpus: Path, tmp_path: Path, mode: str
) -> None:
    """As many candidates are examined, in the same order, as without them."""
    for kind in ("none", "mask"):
        train.run(settings(corpus, mode=mode, augment=kind, out=tmp_path / kind, **short()))
    plain, augmented = ([r["candidate_id"] for r in scored(tmp_path / k)] for k in ("none", "mask"))
    assert plain[:8] == augmented[:8]
    assert history(tmp_path / "none") != history(tmp_path / "mask")


def test_without_parts_of_speech_one_line_says_so(corpus: Path, labelled: list[Sentence]) -> None:
    """Only where some are asked for."""
    bare = [replace(sentence, tags=None) for sentence in labelled]
    for kind in ("mask", "fill"):
        with pytest.raises(
            InputError, match=r"no parts of speech, which --mask-tags VERB needs"
        ) as e:
            augmentation(kind, corpus, bare, mask_tags="VERB")
        assert "(sentence s0); say --mask-tags all, or ingest the corpus from a" in str(e.value)
        augmentation(kind, corpus, bare)[0].variants(0)


def test_tags_that_say_nothing_of_the_words_are_refused(
    corpus: Path, labelled: list[Sentence]
) -> None:
    """Tags that are not Penn's, of which no class is known; and classes that no word of L has."""
    universal = [replace(s, tags=("NOUN",) * len(s.words)) for s in labelled]
    for sentences, mask_tags, why in (
        (
            universal,
            "all-VERB",
            r"goes by tags of Penn or JUMAN, and most of L.s are none \(NOUN\); say --mask-tags all",
        ),
        (labelled, "CONJ", "no word of the labelled sentences may change by --mask-tags CONJ"),
    ):
        with pytest.raises(InputError, match=why):
            augmentation("mask", corpus, sentences, mask_tags=mask_tags)
    augmentation("mask", corpus, universal, mask_tags="all")


def test_substitution_tells_of_structures_that_stay(corpus: Path, labelled: list[Sentence]) -> None:
    """Those without a conjunct that may give way are counted before training; else nothing is said."""
    odd = [
        replace(s, coordinations=tuple(replace(c, label="UCP") for c in s.coordinations))
        for s in labelled[:2]
    ]
    count = sum(len(s.coordinations) for s in odd)
    total = sum(len(s.coordinations) for s in labelled)
    made = augmentation("substitute", corpus, [*odd, *labelled[2:]])[0]
    note = made.note
    assert note.startswith(
        f"{count} of {total} labelled structures have no conjunct that may give way"
    )
    usual = augmentation("substitute", corpus, labelled)[0]
    assert usual.note == ""
    assert usual.facts["structures"] != made.facts["structures"]  # so a finished run is stale


def test_without_an_lm_head_one_line_says_so(corpus: Path, tmp_path: Path) -> None:
    """Fill and substitute need one of the encoder, or another model; mask and copy do not."""
    bare = tmp_path / "encoder"
    shutil.copytree(corpus / "models/bert", bare)
    BertModel(BertConfig.from_pretrained(bare)).save_pretrained(bare)
    given = short(mode="baseline", steps=2, encoder=str(bare), out=tmp_path / "run")
    for kind in ("fill", "substitute"):
        with pytest.raises(ModelError, match=r"without the head of a masked LM.*--augment-lm") as e:
            train.run(settings(corpus, augment=kind, **given))
        assert f"--augment {kind} needs" in str(e.value)
        assert "\n" not in str(e.value)
    train.run(settings(corpus, augment="mask", **given))
    train.run(settings(corpus, augment="fill", augment_lm="models/bert", **given))


def test_without_trees_substitution_says_so(corpus: Path, tmp_path: Path) -> None:
    """Before anything is trained."""
    own = tmp_path / "tiny"
    shutil.copytree(corpus, own, ignore=shutil.ignore_patterns("trees", "runs"))
    with pytest.raises(InputError, match="run `conjoin preparse` first"):
        train.run(settings(own, mode="baseline", augment="substitute", **short()))

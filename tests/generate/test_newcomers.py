"""A new family and a new ranking: once registered, they work from generation to the report's words."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor
from transformers import (
    AutoModelForCausalLM,
    AutoTokenizer,
    GPT2Config,
    GPT2LMHeadModel,
    PretrainedConfig,
    PreTrainedModel,
    PreTrainedTokenizerBase,
)

from pipeline.core.documents import read_json
from pipeline.core.errors import ModelError, SettingsError
from pipeline.core.families import FAMILY_FACTS, FamilyFacts, is_model_name
from pipeline.core.schema import read_candidates
from pipeline.core.types import Candidate, Reference
from pipeline.generate.settings import GenerateSettings
from pipeline.generate.stage import default_out, run
from pipeline.infill import Infiller, InfillRequest
from pipeline.infill.attested import Ranker, chosen, nearest_first
from pipeline.infill.base import Fill
from pipeline.infill.decoding import Trace, key_of
from pipeline.infill.families.known import FAMILIES, check_language_model, family_of_checkpoint
from pipeline.infill.families.protocol import Family
from pipeline.infill.masked_lm import MaskedPair
from pipeline.infill.rankings.known import RANKINGS
from pipeline.infill.rankings.mean import mean
from pipeline.infill.rankings.protocol import OptionScores, ReferenceOptions
from pipeline.models.roles import Role
from pipeline.pretrain.recipes import RECIPES
from pipeline.pretrain.settings import PretrainSettings
from pipeline.report.results import generator_name, model_system


class NextToken(Infiller[MaskedPair]):
    """Writes one token, the likeliest after "X and"."""

    def _encode_all(
        self, references: Sequence[Reference], counts: Sequence[int]
    ) -> list[MaskedPair | str]:
        texts = [" ".join([*r.words[: r.span.end], self.request.coordinator]) for r in references]
        ids = [self.tokenizer(text, add_special_tokens=False)["input_ids"] for text in texts]
        return [
            MaskedPair(list(own), [], count, key_of(reference))
            for own, count, reference in zip(ids, counts, references, strict=True)
        ]

    @torch.inference_mode()
    def decode(self, batch: Sequence[MaskedPair]) -> list[list[Fill]]:
        """One fill each."""
        found = []
        for each in batch:
            scores = self.scores(each)
            token = int(scores.argmax())
            found.append([self._finish(Trace.of([token], [float(scores[token])] * 3, cut=False))])
        return found

    def scores(self, each: MaskedPair) -> Tensor:
        """Log-probabilities of the next token, ``[V]``."""
        logits: Tensor = self.model(input_ids=torch.tensor([each.ids])).logits[0, -1]
        return logits.log_softmax(-1)


class ByFirstToken(Ranker[Any]):
    """Scores an option by its first token."""

    own = staticmethod(mean)
    _infiller: NextToken

    @staticmethod
    def lengths(count: int, offered: Sequence[int]) -> Iterator[range]:
        """Each length alone."""
        yield from nearest_first(count, offered)

    def encode(self, choices: Sequence[ReferenceOptions]) -> list[Any]:
        """The beginning of each sentence."""
        pairs = self._infiller.encode([choice.reference for choice in choices])
        return [
            p if isinstance(p, str) else _Ranked(p, c) for p, c in zip(pairs, choices, strict=True)
        ]

    @torch.inference_mode()
    def decode(self, batch: Sequence[Any]) -> list[list[Fill]]:
        """The options whose first token is likeliest."""
        request, choices = self._infiller.request, [each.choice for each in batch]
        found = torch.zeros(3, len(batch), max(len(c.options) for c in choices))
        for i, each in enumerate(batch):
            scores = self._infiller.scores(each.pair)
            firsts = [tokens[0] for tokens in each.choice.tokens]
            found[:, i, : len(firsts)] = scores[firsts]
        return chosen(
            OptionScores(found, found[0]), choices, request.decoding, request.ranking or self.own
        )


class _Ranked:
    def __init__(self, pair: MaskedPair, choice: ReferenceOptions) -> None:
        self.pair, self.choice = pair, choice
        self.order, self.read, self.rows, self.tokens = pair.order, pair.read, 1, pair.tokens


class Decoder(Role):
    """A model whose words see those on their left."""

    name = "a decoder"
    factory = AutoModelForCausalLM

    def takes(self, config: PretrainedConfig) -> bool:
        """Whether it is a GPT-2."""
        return config.model_type == "gpt2"


class Gpt(Family):
    """Decoders alone."""

    role = Decoder()
    searches = False

    def infiller(
        self, model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase, request: InfillRequest
    ) -> NextToken:
        """One token each."""
        return NextToken(model, tokenizer, request)

    def ranker(self, infiller: Infiller[Any]) -> ByFirstToken:
        """By the first token."""
        return ByFirstToken(infiller)


@pytest.fixture
def gpt(corpus: Path, tiny_bert: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The corpus's model of a family ``gpt``, which is registered with two lines."""
    for known in (FAMILY_FACTS, FAMILIES):
        monkeypatch.delitem(known, "causal")  # which takes its models, too
    monkeypatch.setitem(FAMILY_FACTS, "gpt", FamilyFacts("GPT"))
    monkeypatch.setitem(FAMILIES, "gpt", Gpt())
    folder = corpus / "models" / "gpt"
    tokenizer = AutoTokenizer.from_pretrained(tiny_bert)
    torch.manual_seed(0)
    config = GPT2Config(vocab_size=len(tokenizer), n_positions=160, n_embd=8, n_layer=1, n_head=2)
    GPT2LMHeadModel(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def rows_of(settings: GenerateSettings) -> list[Candidate]:
    run(settings)
    out = settings.out or default_out(settings)
    return [c for path in sorted(out.glob("candidates-*.parquet")) for c in read_candidates(path)]


@pytest.mark.parametrize("fills", ["free", "attested"])
def test_a_new_family_fills_and_ranks(corpus: Path, gpt: Path, fills: str) -> None:
    """Its models make candidates of either kind, in a folder of its name."""
    given = GenerateSettings.build(
        {"corpus": corpus, "lm": "gpt", "fills": fills, "references": 2}, None
    )
    rows = rows_of(given)
    assert rows
    assert all((row.donor is not None) == (fills == "attested") for row in rows)
    about = read_json(default_out(given) / "manifest.json")
    assert about["settings"]["lm"] == "gpt"
    assert "beams" not in about["settings"]
    assert gpt.parent.parent in default_out(given).parents


def test_a_new_family_is_asked_by_everything(corpus: Path, gpt: Path, tiny_bert: Path) -> None:
    """Names, tables, checkpoints that do not fit, and a training that there is not."""
    assert is_model_name("gpt-large")
    assert generator_name(model_system("gpt", {})) == "GPT"
    assert family_of_checkpoint(str(gpt)) == "gpt"
    for lm, where, message in (
        ("gpt", tiny_bert, "is a bert, not a decoder; use lm bert"),
        ("bert", gpt, "is a gpt2, not a masked LM; use lm gpt"),
    ):
        with pytest.raises(ModelError, match=message):
            check_language_model(lm, str(where))
    with pytest.raises(SettingsError, match=r"bert, t5 or gpt, or like t5-twins; did you mean"):
        GenerateSettings.build({"corpus": corpus, "lm": "gpd"}, None)
    with pytest.raises(SettingsError, match="a GPT cannot be trained here; name a ready one"):
        PretrainSettings.build({"corpus": corpus, "lm": "gpt"}, None)
    assert (
        PretrainSettings.build({"corpus": corpus, "lm": "gpt", "ready": str(gpt)}, None).family
        == "gpt"
    )


def test_every_family_is_in_both_lists_and_has_its_training() -> None:
    """What settings know of by name is what can be loaded, in one order, and trained where they say so."""
    assert list(FAMILIES) == list(FAMILY_FACTS)
    assert list(RECIPES) == [name for name, facts in FAMILY_FACTS.items() if facts.pretraining]
    known = set().union(*(f.pretraining.settings for f in FAMILY_FACTS.values() if f.pretraining))
    assert known <= PretrainSettings.model_fields.keys()


@pytest.mark.parametrize("lm", ["bert", "t5"])
def test_a_new_ranking_chooses(corpus: Path, lm: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """One that prefers what the model likes least takes the last of the best by the mean."""

    def worst(scores: OptionScores, _: Sequence[ReferenceOptions]) -> Tensor:
        return -scores.means[0]

    monkeypatch.setitem(RANKINGS, "worst", worst)
    usual = {"corpus": corpus, "lm": lm, "fills": "attested", "pool": 4}
    least = GenerateSettings.build({**usual, "ranking": "worst"}, None)
    every = GenerateSettings.build({**usual, "ranking": "mean", "decoding": "n-best", "n": 4}, None)
    lowest: dict[str, float] = {}
    for row in rows_of(every):
        lowest[row.sentence_id] = min(row.score or 0.0, lowest.get(row.sentence_id, 0.0))
    rows = rows_of(least)
    assert len(rows) > 10
    assert [row.score for row in rows] == pytest.approx(
        [lowest[row.sentence_id] for row in rows], abs=1e-5
    )
    assert default_out(least).parent.name == f"attested-4-{lm}-sync-worst"
    assert read_json(default_out(least) / "manifest.json")["settings"]["ranking"] == "worst"


def test_a_ranking_that_is_not_named_is_the_familys_own(corpus: Path) -> None:
    """Unset it is no setting of the rows; named, the same rows."""
    usual = {"corpus": corpus, "lm": "bert", "fills": "attested", "pool": 4}
    unset, named = (
        GenerateSettings.build({**usual, **more}, None) for more in ({}, {"ranking": "mean"})
    )
    assert rows_of(unset) == rows_of(named)
    assert "ranking" not in read_json(default_out(unset) / "manifest.json")["settings"]


def test_a_ranking_that_there_is_not_is_one_line(corpus: Path) -> None:
    """Before anything is read or written."""
    given = GenerateSettings.build({"corpus": corpus, "fills": "attested", "ranking": "maen"}, None)
    with pytest.raises(
        SettingsError, match="no ranking 'maen'; there are: mean, ended, rest; did you"
    ):
        run(given)

"""Settings of ``conjoin generate``."""

from pathlib import Path
from typing import ClassVar, Literal

from pydantic import Field, field_validator

from pipeline.core import words
from pipeline.core.candidates import LIKE_L
from pipeline.core.corpus_folder import tree_set
from pipeline.core.errors import SettingsError
from pipeline.core.families import MODEL_NAMES, ModelName, family_of
from pipeline.core.names import nearest
from pipeline.core.settings import (
    DecodingSettings,
    DrawSize,
    OnlyWith,
    SourceSettings,
    only_for,
    trees_name,
)
from pipeline.models.writers.address import KeyVariable, ServerAddress

PARSED, TREEBANK = "parsed", "treebank"
"""Trees of U without a name: those of ``preparse``, and the treebank's own."""


class GenerateSettings(SourceSettings, DecodingSettings):
    """Fill twins of masked sentences with identical text: candidates in shards."""

    stage: ClassVar[str] = "generate"
    arguments: ClassVar[tuple[str, ...]] = ("corpus",)
    table: ClassVar[str] = "generations"
    variant_field: ClassVar[str | None] = "lm"
    only_with: ClassVar[OnlyWith] = {
        **DecodingSettings.only_with,
        **only_for(("served", "replay"), ("lm", ("causal",))),
        **only_for(("remote", "key_env"), ("served", ())),
        "scorer": [("served", ()), ("replay", ())],
    }

    lm: ModelName = Field("t5", description=f"Language model that fills: {MODEL_NAMES}.")
    model: str | None = Field(
        None,
        description="Model folder or hub name; unset: CORPUS/models/LM/seed-SEED, which pretrain writes; "
        "with --served or --replay its name at the server.",
    )
    served: ServerAddress | None = Field(
        None,
        description="Address of an OpenAI-compatible server whose causal LM proposes fills, which are then "
        "ranked, e.g. http://127.0.0.1:8000/v1.",
    )
    remote: bool = Field(
        False, description="The server may be another machine, to which sentences are sent."
    )
    key_env: KeyVariable | None = Field(
        None,
        description="Name of the environment variable with the server's key; unset: none is sent.",
    )
    scorer: str | None = Field(
        None,
        description="Folder or hub name of a causal LM that ranks the proposals here; unset: the server "
        "does, if it gives log-probabilities of prompts, as vLLM.",
    )
    replay: Path | None = Field(
        None,
        description="Instead of --served: an earlier output, whose completions are kept, or their file.",
    )
    spans: Literal["constituents", "random", "given"] = Field(
        "constituents", description="How reference spans are chosen (§3.3)."
    )
    trees: str = Field(
        PARSED,
        description="Whose trees of U the spans are drawn from; parsed: those of preparse; treebank: the "
        "gold ones of the same sentences (what the parser costs); else those that `preparse --name` called "
        "so, of the draw --labelled and the seed.",
    )
    given: Path | None = Field(
        None, description="spans=given: JSON lines of {sentence_id, start, end, label}."
    )
    references: int = Field(1, ge=1, description="R: reference spans per sentence, distinct.")
    coordinators: str | None = Field(
        None,
        description="Coordinators, of which each reference draws one: and,or,but; like-L: as often as the "
        "draw --labelled has them, with either … or and the like; unset: --coordinator alone.",
    )
    arity: Literal["two", "like-L"] = Field(
        "two",
        description="Conjuncts: two; like-L: as often two, three or four as in the draw --labelled.",
    )
    gap: bool = Field(
        False,
        description="Leave the verb out of the second conjunct: clauses, fills=attested (docs/ellipsis.md).",
    )
    labelled: DrawSize | None = Field(
        None,
        description="like-L, trees with a name: which draw of the seed is L, a number or 'full'.",
    )
    seed: int = Field(0, ge=0, description="Seed of the span draw and of sampling.")
    targets: Path | None = Field(
        None,
        description="Draw labels, lengths, coordinators and numbers of conjuncts by this file of "
        "`conjoin diagnose`.",
    )
    limit: int | None = Field(None, ge=1, description="Use only the first so many sentences of U.")
    unit: int = Field(1024, ge=1, description="Pairs per work unit; one unit is one shard.")
    batch_tokens: int = Field(
        16384,
        ge=1,
        description="Tokens read together, padding included: of both twins, times half the beams.",
    )
    dtype: Literal["float32", "bfloat16"] = Field("float32", description="Weights' number format.")
    out: Path | None = Field(
        None,
        description="Folder for the shards; unset: CORPUS/candidates/LM-[no-]sync/seed-SEED, with "
        "-gold or -TREES-LABELLED, -sample or -n-best, -RANKING, -coordinators, -arity, -gap, -targets "
        "after the former, attested- (attested-M- if M is not 16) or served- before it.",
    )

    @field_validator("coordinators")
    @classmethod
    def _coordinators(cls, value: str | None) -> str | None:
        if value is None or value == LIKE_L:
            return value
        given = value.split(",")
        if not all(given) or any(c.isspace() for c in value) or len(set(given)) < len(given):
            raise ValueError(
                "must be like-L, or different words with commas between, as and,or,but"
            )
        for word in given:
            words.coordinator(word)
            if nearest(word.lower(), [LIKE_L.lower()]):
                raise ValueError(f"{word!r} is no coordinator, did you mean {LIKE_L!r}?")
            if word != word.lower():
                raise ValueError(f"{word!r}: coordinators are in lower case")
        return value

    @property
    def proposes(self) -> bool:
        """Whether a model behind an address proposes the fills, or once did."""
        asked = self.served is not None or self.replay is not None
        return asked and self.family == "causal"

    @field_validator("trees")
    @classmethod
    def _trees(cls, value: str) -> str:
        return value if value in (PARSED, TREEBANK) else trees_name(value)

    @property
    def named(self) -> str | None:
        """What the trees are called in the corpus; None: they have no name.

        Raises:
            SettingsError: they have one, and no draw is named.
        """
        if self.trees in (PARSED, TREEBANK):
            return None
        if self.labelled is None:
            raise SettingsError(
                f"generate.trees = {self.trees!r}: trees with a name go with a draw of L",
                remedy="name it with --labelled, or take --trees parsed",
            )
        return tree_set(self.trees, self.labelled, self.seed)

    @property
    def family(self) -> str:
        """The family that the language model is of."""
        return family_of(self.lm)

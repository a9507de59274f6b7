"""Settings of ``conjoin synthesize``."""

from pathlib import Path
from typing import ClassVar, Literal, Self

from pydantic import Field, field_validator, model_validator

from pipeline.core.settings import OnlyWith, SourceSettings, only_for
from pipeline.corpus.licences import LONGEST, is_expression
from pipeline.models.writers.address import KeyVariable, ServerAddress

Filter = Literal["writer", "model", "none"]

MODELS = ("local", "served", "replay")
"""Writers that are language models, which are asked in prompts."""


class SynthesizeSettings(SourceSettings):
    """Have new pairs written of the relations that a run's model takes for others."""

    stage: ClassVar[str] = "synthesize"
    arguments: ClassVar[tuple[str, ...]] = ("corpus",)
    table: ClassVar[str] = "syntheses"
    every_task: ClassVar[bool] = True
    only_with: ClassVar[OnlyWith] = {
        "model": [("writer", MODELS)],
        "dtype": [("writer", ("local",))],
        **only_for(("tokens", "neighbours", "definitions"), ("writer", MODELS)),
        **only_for(("served", "remote", "key_env"), ("writer", ("served",))),
        "replay": [("writer", ("replay",))],
        "confused": [("writer", ("attested",))],
        "writer_license": [("writer", MODELS)],
        **only_for(("error", "source"), ("writer", ("oracle",))),
    }

    run: Path = Field(
        description="Run folder of the model whose errors are looked for, in the corpus (runs/SYSTEM/"
        "LABELLED/seed-SEED) or any; {seed} stands for --seed."
    )
    writer: Literal["attested", "local", "served", "replay", "oracle"] = Field(
        "attested",
        description="Who writes; attested: nobody, explicit pairs of the corpus lose their connective; "
        "local: a causal LM here; served: one behind an address; replay: what one of them once answered; "
        "oracle: the embedded world.",
    )
    k: int = Field(3, ge=1, description="k: how many confusions are taken, the largest ones.")
    least_errors: int = Field(
        3,
        ge=1,
        description="Take no confusion with fewer errors among the validation pairs than that.",
    )
    filter: Filter | None = Field(
        None,
        description="Who refuses new pairs that could have the other relation; writer: it is asked (the "
        "thesis); model: the run's, if it takes one for that; none: nobody. Unset: writer, of attested ones "
        "model.",
    )
    confused: Literal["model", "random"] = Field(
        "model",
        description="attested: whose pairs; model: those of confused relations; random: as many of any "
        "relation, drawn with --seed (the control).",
    )
    model: str | None = Field(
        None,
        description="local: folder or hub name of a causal LM; served: its name there; replay: what the "
        "earlier output's manifest calls it, unset: as there.",
    )
    dtype: Literal["float32", "bfloat16"] = Field(
        "float32", description="local: number format of the model's weights."
    )
    served: ServerAddress | None = Field(
        None, description="served: the address, e.g. http://127.0.0.1:8000/v1."
    )
    remote: bool = Field(
        False, description="The server may be another machine, to which pairs are sent."
    )
    key_env: KeyVariable | None = Field(
        None,
        description="Name of the environment variable with the server's key; unset: none is sent.",
    )
    replay: Path | None = Field(
        None,
        description="replay: an earlier output, whose completions are kept, or their file.",
    )
    writer_license: str | None = Field(
        None,
        max_length=LONGEST,
        description="SPDX expression of the terms on what the language model writes; unset: unknown.",
    )
    neighbours: str = Field(
        "models/bert",
        description="Encoder of the sentence vectors by which a prompt's examples are chosen: a folder in "
        "the corpus, any folder, or a hub name.",
    )
    definitions: Path | None = Field(
        None, description="YAML file of senses and their definitions, over those of PDTB-3."
    )
    tokens: int = Field(2048, ge=1, description="Most tokens of a list of new arguments.")
    error: float = Field(
        0.3, ge=0, le=1, description="oracle: share of new pairs with the other relation."
    )
    source: Path | None = Field(
        None, description="oracle: folder of the world's lexicon.yaml; data/raw/CORPUS if left out."
    )
    seed: int = Field(0, ge=0, description="Of the run's name, and of what is drawn.")
    limit: int | None = Field(None, ge=1, description="Use only the first so many sources.")
    unit: int = Field(64, ge=1, description="Sources per work unit; one unit is one shard.")
    out: Path | None = Field(
        None,
        description="Folder for the shards; unset: CORPUS/candidates/WRITER/seed-SEED (of attested: "
        "attested-pairs), with -random and -unfiltered or -filtered-by-FILTER after WRITER.",
    )

    @field_validator("writer_license")
    @classmethod
    def _is_expression(cls, value: str | None) -> str | None:
        if value is not None and not is_expression(value):
            raise ValueError(
                "no SPDX expression of licences, such as Apache-2.0 or LicenseRef-NAME"
            )
        return value

    @model_validator(mode="after")
    def _go_together(self) -> Self:
        if self.writer == "served" and self.served is None:
            raise ValueError("where the server is was not said: add --served")
        if self.writer == "replay" and self.replay is None:
            raise ValueError("what is to be replayed was not said: add --replay")
        if self.writer in ("local", "served") and self.model is None:
            raise ValueError("which language model is to write was not said: add --model")
        if self.writer == "attested" and self.filter == "writer":
            raise ValueError("nobody wrote attested pairs who could be asked: take --filter model")
        if self.confused == "random" and self.writer != "attested":
            raise ValueError("pairs of any relation are drawn among attested ones alone")
        return self

    @property
    def filters(self) -> Filter:
        """Who refuses."""
        return self.filter or ("model" if self.writer == "attested" else "writer")

    @property
    def run_folder(self) -> Path:
        """The run, which may be named from the corpus."""
        name = Path(str(self.run).replace("{seed}", str(self.seed)))
        inside = self.corpus / name
        return inside if inside.is_dir() else name

"""Settings of decoding: how a language model's fills are chosen (§3.1, §3.2), for all that fills."""

from typing import Literal

from pydantic import Field

from pipeline.core.settings import Settings


class DecodingSettings(Settings):
    """What ``generate`` and ``fill`` have in common."""

    lm: str = Field("t5", description="Language model that fills.")
    seed: int = Field(0, ge=0, description="Seed of sampling.")
    sync: bool = Field(True, description="Without it only S′(1) is filled (the paper's ablation).")
    synchronize: Literal["min", "mean"] = Field("min", description="f of Eq. 1 and 2.")
    scores: Literal["logits", "logprobs"] = Field("logits", description="What f is applied to.")
    decoding: Literal["greedy", "sample", "n-best"] = Field(
        "greedy", description="How fills are chosen: argmax (the paper), at random, or by search."
    )
    fills: int = Field(1, ge=1, description="N: fills per reference; greedy has one.")
    temperature: float = Field(1.0, gt=0, description="sample: what u′ is divided by.")
    top_p: float = Field(1.0, gt=0, le=1, description="sample: mass of the tokens drawn from.")
    beams: int | None = Field(
        None, ge=1, description="n-best with T5: width of the search; unset: max(fills, 4)."
    )
    refine: int = Field(
        1,
        ge=1,
        description="greedy with BERT: passes of mask-predict; 1 is the paper's single one.",
    )
    coordinator: str = Field(
        "and", pattern=r"^\S+$", description="The coordinator to insert, one word."
    )

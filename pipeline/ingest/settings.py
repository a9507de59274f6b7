"""Settings of ``conjoin ingest``."""

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, Self

from pydantic import BeforeValidator, Field, field_validator, model_validator

from pipeline.core.corpora import COORDINATION, CORPORA, QUESTIONS
from pipeline.core.documents import read_yaml
from pipeline.core.names import PLAIN_NAME, HeldOutSplits, by_commas, is_plain_name, nearest
from pipeline.core.settings import OnlyWith, Settings, flag_of, only_for
from pipeline.core.words import coordinator_list
from pipeline.corpus.licences import LONGEST, UNKNOWN, relaxes
from pipeline.ingest.draws import Size
from pipeline.text.unpacking import USUAL
from pipeline.text.unpacking import Size as Bytes

if TYPE_CHECKING:
    ReaderName = str
else:
    ReaderName = Literal[tuple(CORPORA)]


_BY_DOCUMENT = tuple(name for name, corpus in CORPORA.items() if corpus.by_document)
_THESE = ", ".join(_BY_DOCUMENT)
_JOINED = tuple(name for name in _BY_DOCUMENT if CORPORA[name].task == COORDINATION)
_TREEBANKS = ", ".join(_JOINED)
_UNLABELLED = ("unlabelled", "unlabelled_license", "most_unlabelled")
_OF_DOCUMENTS = (
    "split", "split_lists", "split_fractions", "folds", "strict", "licenses", *_UNLABELLED,
)  # fmt: skip
"""Options of the readers that read by document; genia has lists of its own."""


_WITH_COORDINATORS = ("conllu", "treebank", "text")
"""Readers of text of any language."""

_MADE = ("world", "world-relations", "world-arguments", "world-questions")
"""Readers that make what they read."""

_OF_QUESTIONS = tuple(
    name for name, corpus in CORPORA.items() if corpus.task == QUESTIONS and name not in _MADE
)


_LICENSED = ("genia", "asked", *_MADE)
"""Readers of rows whose licence is known."""


def _place(name: object) -> Path:
    """The usual folder of a corpus; the one above for what is no name, which is refused elsewhere."""
    return Path("data", name) if isinstance(name, str) and is_plain_name(name) else Path("data")


class IngestSettings(Settings):
    """Read a treebank or raw text into sentences.parquet and print its counts."""

    stage: ClassVar[str] = "ingest"
    arguments: ClassVar[tuple[str, ...]] = ("reader", "source")
    corpus_field: ClassVar[str] = "out"
    only_with: ClassVar[OnlyWith] = {
        **only_for(("sentences", "raw", "seed"), ("reader", _MADE)),
        "predicates": [("reader", ("wac",))],
        "questions": [("reader", ("world-questions",))],
        "apart": [("reader", _OF_QUESTIONS)],
        "of": [("reader", ("corrected",))],
        "coordinators": [("reader", _WITH_COORDINATORS)],
        "fold": [("folds", ())],
        "least": [("reader", ("pdtb", "world-relations"))],
        "segment": [("reader", ("text",)), ("unlabelled", ())],
        **only_for(("unlabelled_license", "most_unlabelled"), ("unlabelled", ())),
    }

    reader: ReaderName = Field(
        description="What SOURCE is (see `conjoin corpora`), or the name of a section of --params that has "
        "`reader`."
    )
    source: Path = Field(description="File, folder or archive to read (see `conjoin corpora`).")
    of: Path | None = Field(None, description="corrected: corpus folder whose sentences these are.")
    out: Path = Field(  # this and the name: see _named
        default_factory=Path, description="Corpus folder to write; unset: data/NAME."
    )
    name: str = Field(
        default_factory=str,
        description="The corpus's name, which sentence ids begin with; unset: that of the folder --out.",
    )
    split: list[str] = Field(
        [],
        description=f"{_THESE}: SPLIT=PATTERN, documents of train, dev, test or test2 by name or path, "
        "with * for any text: train=wsj_0*.",
    )
    split_lists: Path | None = Field(
        None,
        description=f"Folder with lists instead of the shipped split; {_THESE}: train.txt, dev.txt, "
        "test.txt, a document's name a line; genia: {train,dev,test}.pmids.",
    )
    split_fractions: str | None = Field(
        None,
        description=f"{_THESE}: shares of train, dev and test, by document; treebank, if nothing else "
        "is given: 80,10,10.",
    )
    folds: int | None = Field(
        None,
        ge=3,
        le=20,
        description=f"{_THESE}: divide the documents into so many folds by a hash of their names.",
    )
    fold: int = Field(
        0, ge=0, description="folds: which of them is test, from 0; the next one is dev."
    )
    strict: bool = Field(
        False,
        description=f"{_THESE} (conllu always does), and questions: stop at the first malformed tree, or "
        "question with two choices alike, instead of counting it.",
    )
    coordinators: Annotated[list[str], BeforeValidator(by_commas)] = Field(
        [],
        description=f"{', '.join(_WITH_COORDINATORS)}: the words that are coordinators, in lower case: "
        "en,of,maar; unset: conllu: and, or, but, nor, and/or where they join most structures, else the "
        "words that do; treebank, text: those of English.",
    )
    segment: Literal["line", "punkt", "stanza"] = Field(
        "line",
        description="text, and --unlabelled: one sentence per line, or running text cut by punkt or stanza.",
    )
    largest_unpacked: Bytes = Field(
        USUAL, description="Refuse packed files that unpack to more in all: 512MiB, 4GiB."
    )
    license: str = Field(
        "unknown",
        max_length=LONGEST,
        description="Licence recorded with every sentence, of readers without a licence of their own.",
    )
    unlabelled: list[Path] = Field(
        [],
        description=f"{_TREEBANKS}: raw text as of reader text (files or folders; see --segment), whose "
        "sentences join the training split without trees, as U; conllu: or CoNLL-U that a parser wrote.",
    )
    unlabelled_license: str = Field(
        "unknown",
        max_length=LONGEST,
        description="Licence recorded with every sentence of --unlabelled.",
    )
    most_unlabelled: int | None = Field(
        None, ge=1, description="Take so many sentences of --unlabelled, evenly spread; unset: all."
    )
    licenses: Path | None = Field(
        None,
        description=f"{_THESE}: file with a document, or a pattern, and its licence on each line.",
    )
    labelled: list[str] = Field(
        ["250"], description="Sizes of L to draw; 'full': every sentence but the validation ones."
    )
    validation: int | None = Field(
        None, ge=1, description="Validation sentences of each draw; unset: a fifth of its size."
    )
    seeds: list[int] = Field([0], description="One draw per size and seed.")
    least: int = Field(
        20,
        ge=1,
        description="pdtb: implicit training pairs that a sense has at least which models shall tell.",
    )
    predicates: Literal["verbal", "all"] = Field(
        "verbal",
        description="wac: those that are a verb or an adjective or have a copula, or nouns, too.",
    )
    sentences: int = Field(
        9000, ge=30, description="world: how many sentences, or argument pairs, to make."
    )
    questions: int = Field(
        6000, ge=30, description="world-questions: how many to make; --sentences are of its text."
    )
    apart: HeldOutSplits = Field(
        [],
        description="Questions: leave out those of the training split whose context one of these splits has, "
        "word for word: dev,test.",
    )
    raw: int = Field(
        0, ge=0, description="world: how many more to write as raw text only, for pretrain."
    )
    seed: int = Field(0, ge=0, description="world: seed of the grammar.")

    @classmethod
    def build(cls, given: Mapping[str, Any], params: Path | None, named: str | None = None) -> Self:
        """As of all settings; READER may be a section's name, which says the reader and is the corpus's name.

        Raises:
            SettingsError: as of all settings.
        """
        filled = dict(given)
        reader, name, out = (filled.get(key) for key in ("reader", "name", "out"))
        if out is None:
            filled["out"] = _place(name or reader)
        if params and reader is not None:
            document = read_yaml(params)
            section = document.get(cls.stage) if isinstance(document, dict) else None
            entry = section.get(reader) if isinstance(section, dict) else None
            if isinstance(entry, dict) and entry.get("reader"):
                del filled["reader"]
        return super().build(filled, params, named)

    @classmethod
    def _corpus(cls, explicit: Mapping[str, Any]) -> str | None:
        return str(explicit["name"]) if "name" in explicit else super()._corpus(explicit)

    @model_validator(mode="before")
    @classmethod
    def _named(cls, data: dict[str, Any]) -> dict[str, Any]:
        """Fill in the name and the folder, each from the other, or from the reader's name."""
        out, name = data.get("out"), data.get("name")
        if out is None:
            out = _place(name or data.get("reader"))
        # Not resolved: it may be anything yet.
        return data | {"out": out, "name": name or os.path.basename(os.path.abspath(out))}

    @field_validator("reader", mode="before")
    @classmethod
    def _reader(cls, value: object) -> object:
        if value not in CORPORA:
            meant = nearest(str(value), CORPORA)
            raise ValueError(
                f"no such reader; there are: {', '.join(CORPORA)}; "
                f"{f'{meant} A' if meant else 'a'} section of params.yaml needs --params"
            )
        return value

    @field_validator("name")
    @classmethod
    def _plain(cls, value: str) -> str:
        if not is_plain_name(value):
            raise ValueError(f"must be {PLAIN_NAME}, for sentence ids begin with it; give --name")
        return value

    @field_validator("license", "unlabelled_license")
    @classmethod
    def _licence(cls, value: str) -> str:
        if not value.strip() or not value.isprintable():  # it stands in every row and on cards
            raise ValueError(
                f"{value[:60]!r} names no licence; leave it out, or spell it as https://spdx.org/licenses"
            )
        return value

    @model_validator(mode="after")
    def _one_way_of_splitting(self) -> Self:
        given = [
            n for n in ("split", "split_lists", "split_fractions", "folds") if getattr(self, n)
        ]
        if len(given) > 1:
            flags = " and ".join(f"--{flag_of(name)}" for name in given)
            raise ValueError(f"give one of {flags}")
        return self

    @model_validator(mode="after")
    def _of_a_corpus(self) -> Self:
        if self.reader == "corrected" and self.of is None:
            raise ValueError("whose sentences were corrected was not said: add --of CORPUS")
        if self.reader == "corrected" and self.license != UNKNOWN:
            raise ValueError("each sentence keeps its licence in the corpus; leave --license out")
        return self

    @model_validator(mode="after")
    def _among_the_folds(self) -> Self:
        if self.folds is not None and self.fold >= self.folds:
            raise ValueError(f"fold must be below folds, {self.folds}, was {self.fold}")
        return self

    @model_validator(mode="after")
    def _of_the_reader(self) -> Self:
        """Refuse what another reader would take, which would be passed over without a word."""
        taken = {"split_lists"} if self.reader == "genia" else set()
        left = set(_OF_DOCUMENTS) - ({"strict"} if self.reader in _OF_QUESTIONS else taken)
        if self.reader in _BY_DOCUMENT:
            left = set() if self.reader in _JOINED else set(_UNLABELLED)
            left |= {"strict"} if self.reader == "conllu" else set()
        for name in sorted(left):
            if getattr(self, name) != type(self).model_fields[name].default:
                raise ValueError(f"the reader {self.reader} takes no --{flag_of(name)}")
        return self

    @model_validator(mode="after")
    def _as_the_reader_knows(self) -> Self:
        """Refuse a licence that permits more than the corpus's own, or that no row would have."""
        own = CORPORA[self.reader].licence
        if self.license not in (own, UNKNOWN) and relaxes(self.license, own):
            raise ValueError(
                f"{self.reader} is under {own}, and {self.license[:60]!r} permits more; leave --license out"
            )
        if self.license not in (own, UNKNOWN) and self.reader in _LICENSED:
            raise ValueError(f"{self.reader} says under which licences it is; leave --license out")
        return self

    @field_validator("labelled", mode="before")
    @classmethod
    def _labelled(cls, value: Any) -> Any:
        # params.yaml holds numbers, the command line words.
        return [str(size) for size in value] if isinstance(value, list | tuple) else value

    @field_validator("labelled")
    @classmethod
    def _known(cls, value: list[str]) -> list[str]:
        for size in value:
            if size != "full" and not (re.fullmatch("[0-9]{1,9}", size) and int(size)):
                raise ValueError(f"must be numbers of sentences above 0 or 'full', was {size!r}")
        return value

    @field_validator("coordinators")
    @classmethod
    def _coordinators(cls, value: list[str]) -> list[str]:
        return list(coordinator_list(value)) if value else value

    @field_validator("seeds")
    @classmethod
    def _from_zero(cls, value: list[int]) -> list[int]:
        if value and min(value) < 0:
            raise ValueError(f"must be 0 or more, was {min(value)}")
        return value

    def corpus_of(self) -> Path:
        """The corpus whose sentences were corrected."""
        assert self.of is not None  # noqa: S101 - as is checked above
        return self.of

    @property
    def sizes(self) -> list[Size]:
        """The sizes of L."""
        return ["full" if size == "full" else int(size) for size in self.labelled]

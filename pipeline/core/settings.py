"""How a command's settings are made: CLI flag over params.yaml section over default.

A section of params.yaml is named like the stage and holds ``default`` and one entry per corpus;
the corpus entry (the corpus folder's name) overrides ``default`` key by key. Where a stage makes
several kinds of the same thing (``pretrain`` a BERT and a T5), both entries may hold a nested
section per kind, which goes over the plain keys of its level.

Some commands also have options by name: an entry of a table of params.yaml (``systems`` for ``train``,
``generations`` for ``generate``), which goes over the section and under the flags.
"""

import re
import shlex
from collections.abc import Iterable, Mapping, Sequence, Set
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    field_validator,
)

from pipeline.core import words
from pipeline.core.documents import read_yaml
from pipeline.core.errors import SettingsError
from pipeline.core.families import is_model_name, naming
from pipeline.core.names import PLAIN_NAME, is_plain_name, nearest
from pipeline.core.types import label

MOST_PROCESSES, MOST_THREADS = 1024, 1024
"""Beyond these a machine stops answering before anything says why."""


def _draw_size(value: Any) -> str:
    if value != "full" and not (str(value).isdecimal() and int(value) > 0):
        raise ValueError("must be a whole number above 0, or 'full'")
    return value if value == "full" else str(int(value))


DrawSize = Annotated[str, BeforeValidator(_draw_size)]
"""|L|: which labelled draw to use, a number or ``full``."""


Label = Annotated[str, AfterValidator(label)]
"""A constituent's label."""


_TAKEN = ("corpus", "labelled", "parsed", "train", "treebank")
"""Words that stand for other trees and parsers."""


def trees_name(name: str) -> str:
    """The name, if trees and their parser may be called so.

    Raises:
        ValueError: it is no plain name, or stands for other trees.
    """
    # Beside the folders of trees with a name lie the files of those without.
    if not is_plain_name(name) or name in _TAKEN or Path(name).suffix in (".json", ".parquet"):
        raise ValueError(f"must be {PLAIN_NAME}; and not {', '.join(_TAKEN[:-1])} or {_TAKEN[-1]}")
    return name


TreesName = Annotated[str, AfterValidator(trees_name)]
"""What `preparse --name` calls trees and their parser."""


def flag_of(name: str) -> str:
    """The option of a field: ``dry_run`` is ``--dry-run``; ``json_`` is ``--json``, a name pydantic has."""
    return name.rstrip("_").replace("_", "-")


def shown_place(path: Path) -> str:
    """A path as it is published: of an absolute one the last two parts, a relative one as it is."""
    return "/".join(path.parts[1:][-2:]) if path.is_absolute() else str(path)


def shown(value: object) -> str:
    """A value as a message shows it: whatever it is, on less than a line."""
    try:
        text = repr(value)
    except ValueError:  # Python prints no number of more than 4,300 digits
        return "…"
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]} …"


_LONGEST = 100  # characters of a value in a message


def _cut(value: Any) -> Any:
    """A value as it is published: of an absolute path the last two parts, of an address no inner ones.

    Anything else is published as it is.
    """
    if isinstance(value, (str, Path)) and Path(value).is_absolute():
        return type(value)(shown_place(Path(value)))
    if isinstance(value, str) and (address := _ADDRESS.fullmatch(value)):
        return f"{address[1]}/…/{address[2]}"  # what stands between may be as secret as a key
    return value


_ADDRESS = re.compile(r"(https?://[^/]+)/.+/([^/]*)")


_GREATEST = 2**31 - 1  # of whole numbers: what every library takes for a seed, size or count


def require_entry(section: Mapping[object, Any], stage: str, corpus: str, params: Path) -> None:
    """Refuse a corpus that a section of params.yaml has no entry for: another's settings are not its own.

    Raises:
        SettingsError: it has none; the entry with the name most like it is named.
    """
    if corpus in section:
        return
    known = [key for key in section if key != "default"]
    raise SettingsError(
        f"section {stage} has no entry {shown(corpus)}; there are: {', '.join(map(str, known)) or 'none'}",
        path=params,
        remedy=nearest(corpus, known) or f"write one, `{corpus}: {{}}` for the usual settings",
    )


Need = tuple[str, tuple[object, ...]]
"""A setting and its values, with one of which an option has an effect; no values: any but the default."""

OnlyWith = Mapping[str, Sequence[Need]]
"""Option → what it needs to have an effect: one of several, which must have an effect itself."""


def only_for(options: Iterable[str], *needs: Need) -> OnlyWith:
    """The same needs of several options."""
    return dict.fromkeys(options, needs)


class Settings(BaseModel):
    """Base of every command's settings: frozen, unknown keys refused, one-line errors.

    The first line of a class's docstring is that of the command's ``--help``.

    Class attributes:
        stage: the one word that names the stage everywhere.
        arguments: fields given by position on the command line.
        corpus_field: the field whose folder name chooses the params.yaml entry.
        variant_field: the field whose value names a nested section, if the stage has kinds: the
            names of language models.
        table: the table of params.yaml with options by name, if the command has one.
        name_field: the field whose value is a name of that table, if it is one; else ``--named`` says it.
        every_task: whether the command takes corpora of every task, or of coordination alone.
        place_fields: fields that name a corpus, or what lies in one, of which that is to be said; none: the
            ``corpus_field`` does.
        only_with: what some options need to have an effect; who gives them without is told.
    """

    model_config = ConfigDict(
        frozen=True, extra="forbid", validate_default=True, allow_inf_nan=False
    )

    stage: ClassVar[str]
    arguments: ClassVar[tuple[str, ...]] = ()
    corpus_field: ClassVar[str] = "corpus"
    variant_field: ClassVar[str | None] = None
    table: ClassVar[str] = ""
    name_field: ClassVar[str | None] = None
    every_task: ClassVar[bool] = True
    place_fields: ClassVar[tuple[str, ...]] = ()
    only_with: ClassVar[OnlyWith] = {}

    def named_places(self) -> list[Path]:
        """The places that the ``place_fields`` name."""
        named = [getattr(self, name) for name in self.place_fields or (self.corpus_field,)]
        every = [each for one in named for each in (one if isinstance(one, list) else [one])]
        return [each for each in every if isinstance(each, Path)]

    @field_validator("*")
    @classmethod
    def _usable(cls, value: Any) -> Any:
        """Refuse what no file name, JSON text or C library can take."""
        for each in value if isinstance(value, list) else [value]:
            if isinstance(each, str | Path):
                try:
                    null = b"\0" in str(each).encode()
                except UnicodeEncodeError as error:
                    raise ValueError("must be text in UTF-8") from error
                if null:
                    raise ValueError("must not have the character NUL")
            elif isinstance(each, int) and abs(each) > _GREATEST:
                raise ValueError(f"must not be beyond {_GREATEST:,}")
        return value

    @classmethod
    def build(cls, given: Mapping[str, Any], params: Path | None, named: str | None = None) -> Self:
        """Settings from explicitly given options over ``params`` over defaults.

        Args:
            given: options; None and empty lists are not given.
            params: file to take unset ones from.
            named: entry of the command's table in that file.

        Raises:
            SettingsError: an unknown key, a value of the wrong type or out of range.
        """
        if named is not None and params is None:
            raise SettingsError(f"{cls.stage}: --named {shown(named)} needs --params")
        document = cls.read_params(params) if params else {}
        return cls.from_document(given, document, params, named)

    @classmethod
    def from_document(
        cls,
        given: Mapping[str, Any],
        document: Mapping[str, Any],
        params: Path | None,
        named: str | None = None,
    ) -> Self:
        """As ``build``, from a params file that is read already.

        Raises:
            SettingsError: as ``build``.
        """
        explicit = {key: value for key, value in given.items() if value not in (None, [])}
        entry, section = {}, {}
        if params:
            entry = cls._entry(document, params, explicit, named)
            section = cls._section(document, params, {**entry, **explicit}) | entry
        try:
            return cls(**{**section, **explicit})
        except ValidationError as error:
            first = error.errors()[0]
            key = ".".join(str(part) for part in first["loc"])
            what = first["msg"].removeprefix("Value error, ")
            if first["type"] == "missing":
                raise SettingsError(f"{cls.stage}: --{flag_of(key)} is required") from error
            if first["type"] == "extra_forbidden":
                what = f"no such setting; there are: {', '.join(cls.model_fields)}"
            value = f" = {shown(first['input'])}" if key else ""
            place = params if key in section and key not in explicit else None
            name = f"{cls.stage}.{key}" if key else cls.stage
            raise SettingsError(f"{name}{value}: {what}", path=place) from error

    def command_line(self, hidden: Set[str] = frozenset()) -> list[str]:
        """The arguments that make these settings again but for ``hidden``, for a launcher's ``conjoin``."""
        line = [self.stage]
        for name in self.arguments:
            value = getattr(self, name)
            line += map(str, value) if isinstance(value, list) else [str(value)]
        for name in type(self).model_fields:
            value = getattr(self, name)
            flag = flag_of(name)
            if name in self.arguments or name in hidden or value is None:
                continue
            if isinstance(value, bool):
                line.append(f"--{flag}" if value else f"--no-{flag}")
            else:
                for item in value if isinstance(value, list) else [value]:
                    line += [f"--{flag}", str(item)]
        return line

    def shown_command(self, hidden: Set[str] = frozenset()) -> str:
        """The command that makes these settings again, as it is published: absolute paths are cut."""
        values = {name: getattr(self, name) for name in type(self).model_fields}
        cut = {
            name: [_cut(each) for each in value] if isinstance(value, list) else _cut(value)
            for name, value in values.items()
        }
        return shlex.join(["conjoin", *self.model_copy(update=cut).command_line(hidden)])

    def without_effect(self, given: Iterable[str]) -> list[str]:
        """What to say of options that were given and change nothing, each in a line."""
        return [
            f"--{flag_of(name)} changes nothing here: it is for "
            + " or ".join(self._shown_need(*need) for need in self.only_with[name])
            for name in given
            if not self.has_effect(name)
        ]

    def has_effect(self, name: str) -> bool:
        """Whether an option changes anything, as far as the other settings tell."""
        needs = self.only_with.get(name)
        return needs is None or any(
            self._is_met(*need) and self.has_effect(need[0]) for need in needs
        )

    def _is_met(self, name: str, values: tuple[object, ...]) -> bool:
        value = getattr(self, name)
        if not values:
            return bool(value != type(self).model_fields[name].default)
        # A model called t5-twins is a t5.
        return value in values or (name == "lm" and str(value).partition("-")[0] in values)

    def _shown_need(self, name: str, values: tuple[object, ...]) -> str:
        flag = name.upper() if name in self.arguments else f"--{flag_of(name)}"
        if values in ((False,), (None,)):
            return f"calls without {flag}"
        shown_ = "" if values == (True,) else " or ".join(map(str, values))
        return f"{flag} {shown_}".rstrip()

    def usual(self) -> set[str]:
        """The settings that have their default values."""
        fields = type(self).model_fields
        return {name for name, field in fields.items() if getattr(self, name) == field.default}

    @classmethod
    def _corpus(cls, explicit: Mapping[str, Any]) -> str | None:
        """The name of the corpus that a command is about; None where none is named."""
        place = explicit.get(cls.corpus_field)
        return None if place is None else Path(place).resolve().name

    @staticmethod
    def read_params(params: Path) -> dict[str, Any]:
        """A params file, for ``from_document``.

        Raises:
            SettingsError: it is no mapping of sections.
        """
        document = read_yaml(params) or {}
        if not isinstance(document, dict):
            raise SettingsError("must be a mapping of sections", path=params)
        return document

    @classmethod
    def _entry(
        cls,
        document: Mapping[str, Any],
        params: Path,
        explicit: Mapping[str, Any],
        named: str | None,
    ) -> dict[str, Any]:
        """The options of a name; none where a name is given that need not be one of the table."""
        name = explicit.get(cls.name_field) if named is None and cls.name_field else named
        if not cls.table or name is None:
            return {}
        table = document.get(cls.table) or {}
        if not isinstance(table, dict):
            raise SettingsError(f"{cls.table} must be a mapping of options by name", path=params)
        if name not in table and named is None:
            return {}
        if name not in table:
            raise SettingsError(
                f"{cls.table} has no entry {shown(name)}; there are: {', '.join(map(str, table)) or 'none'}",
                path=params, remedy=nearest(name, map(str, table)) or None,
            )  # fmt: skip
        entry = table[name]
        if entry is None:
            return {}
        if not isinstance(entry, dict):
            raise SettingsError(f"{cls.table}.{name} must be a mapping of options", path=params)
        return cls._of_entry({str(key): value for key, value in entry.items()}, explicit)

    @classmethod
    def _of_entry(cls, entry: dict[str, Any], explicit: Mapping[str, Any]) -> dict[str, Any]:
        """Options as an entry of the table has them, as settings."""
        del explicit
        return entry

    @classmethod
    def _section(
        cls, document: Mapping[str, Any], params: Path, explicit: Mapping[str, Any]
    ) -> dict[str, Any]:
        if cls.stage not in document:
            raise SettingsError(
                f"no section {cls.stage!r}", path=params,
                remedy=nearest(cls.stage, document) or f"write one, `{cls.stage}: {{default: {{}}}}`",
            )  # fmt: skip
        section = document[cls.stage] or {}
        if not isinstance(section, dict):
            raise SettingsError(f"section {cls.stage!r} must be a mapping", path=params)
        corpus = cls._corpus(explicit)
        if not cls.corpus_field and (
            stray := next((key for key in section if key != "default"), None)
        ):
            raise SettingsError(
                f"{cls.stage}.{stray}: this command has no corpus whose entry that could be",
                path=params, remedy=f"put settings of all calls into {cls.stage}.default",
            )  # fmt: skip
        if corpus:
            require_entry(section, cls.stage, corpus, params)
        levels = [section.get(name) or {} for name in ("default", corpus)]
        if not all(isinstance(level, dict) for level in levels):
            raise SettingsError(f"entries of section {cls.stage!r} must be mappings", path=params)
        # Nested sections are the kinds; those of other kinds are left out.
        plain = [
            {k: v for k, v in level.items() if cls.variant_field is None or not isinstance(v, dict)}
            for level in levels
        ]
        variant = ""
        if cls.variant_field:
            unset = cls.model_fields[cls.variant_field].default
            variant = str({**plain[0], **plain[1], **explicit}.get(cls.variant_field, unset))
            for key in (k for level in levels for k, v in level.items() if isinstance(v, dict)):
                if not is_model_name(key):
                    raise SettingsError(f"{cls.stage}.{key}: no such kind; {naming()}", path=params)
        merged: dict[str, Any] = {}
        for level, own in zip(levels, plain, strict=True):
            nested = level.get(variant) if cls.variant_field else None
            merged |= own | (nested if isinstance(nested, dict) else {})
        return {str(key): value for key, value in merged.items()}


OWN_USE_HELP = "Write text whose licence forbids to hand it on, or is not known: it stays with you."


class SourceSettings(Settings):
    """How a run that makes candidates is carried out: what the stages that make them have in common."""

    every_task: ClassVar[bool] = False

    corpus: Path = Field(description="Corpus folder, e.g. data/genia.")
    processes: int = Field(
        1, ge=1, le=MOST_PROCESSES, description="Worker processes, started by accelerate launch."
    )
    threads: int = Field(
        1, ge=1, le=MOST_THREADS, description="CPU threads per process (part of the fingerprint)."
    )
    own_use: bool = Field(False, description=f"out, outside the corpus folder: {OWN_USE_HELP}")
    dry_run: bool = Field(
        False, description="Print units, time and disk from a short probe; write nothing."
    )


class ConjunctSettings(Settings):
    """Which conjuncts a candidate may have: what all that make candidates have in common."""

    unbalanced: bool = Field(
        False,
        description="Keep conjuncts whose brackets or quotes do not balance, which hardly any right one has; "
        "without it they are rejects.",
    )


Match = Literal["label", "head", "features"]
"""What a reference and its attested fills have in common; ``DecodingSettings.match`` says it."""


class DecodingSettings(ConjunctSettings):
    """How a language model's fills are chosen (§3.1, §3.2): what ``generate`` and ``fill`` have in common."""

    only_with: ClassVar[OnlyWith] = {
        **only_for(("pool", "match", "ranking"), ("fills", ("attested",))),
        **only_for(("temperature", "top_p"), ("decoding", ("sample",))),
        "beams": [("decoding", ("n-best",))],
        "prompt": [("fills", ("free",))],
        "synchronize": [("sync", (True,))],
    }

    lm: str = Field("t5", description="Language model that fills.")
    fills: Literal["free", "attested"] = Field(
        "free",
        description="Where fills come from; free: the language model writes them (the paper); attested: "
        "it chooses among constituents of other sentences.",
    )
    pool: int = Field(
        16,
        ge=1,
        description="attested: M, constituents it chooses among; 1: one at random, not ranked.",
    )
    match: Match = Field(
        "label",
        description="attested: they have the reference's label; head: also its head's tag, by Penn tags; "
        "features: by dependency trees, its head's UPOS and features of agreement.",
    )
    ranking: str | None = Field(
        None,
        min_length=1,
        description="attested: which score it chooses by, such as mean, ended or rest (docs/generation.md); "
        "unset: that of the language model's family.",
    )
    prompt: Literal["chat", "plain", "fim"] | None = Field(
        None,
        description="How a causal LM is asked for a fill; chat: in its chat template; plain: as a base model "
        "goes on; fim: with its tokens of fill-in-the-middle; unset: chat if it has a template, else plain.",
    )
    seed: int = Field(0, ge=0, description="Seed of sampling.")
    sync: bool = Field(True, description="Without it only S′(1) is filled (the paper's ablation).")
    synchronize: Literal["min", "mean"] = Field("min", description="f of Eq. 1 and 2.")
    scores: Literal["logits", "logprobs"] = Field("logits", description="What f is applied to.")
    decoding: Literal["greedy", "sample", "n-best"] = Field(
        "greedy", description="How fills are chosen: argmax (the paper), at random, or by search."
    )
    n: int = Field(1, ge=1, le=10_000, description="N: fills per reference; greedy has one.")
    temperature: float = Field(1.0, gt=0, description="sample: what u′ is divided by.")
    top_p: float = Field(1.0, gt=0, le=1, description="sample: mass of the tokens drawn from.")
    beams: int | None = Field(
        None,
        ge=1,
        le=10_000,
        description="n-best, but with BERT: width of the search; unset: max(N, 4).",
    )
    coordinator: Annotated[str, AfterValidator(words.coordinator)] = Field(
        "and",
        description="The coordinator to insert, one word; unset, in a corpus of another language than "
        "English: its most frequent one.",
    )
    coordinators_in_fills: bool = Field(
        False,
        description="Keep fills that hold a coordinator (and, or, but ...), though nothing marks what it "
        "joins; without it they are rejects.",
    )

    @field_validator("fills", mode="before")
    @classmethod
    def _was_a_number(cls, value: object) -> object:
        if str(value).isdecimal():
            raise ValueError("choose free or attested; the number of fills is --n now")
        return value


Precision = Literal["no", "bf16"]
"""Number format of matrix products; bf16: bfloat16, weights and sums in float32."""

TreesOf = Literal["best", "treebank", "parser"]
"""Whose trees the tree of a candidate is made of; see ``TREES_OF_HELP``."""

TREES_OF_HELP = (
    "whose trees; best: the treebank's where they have the constituent, else the parser's; treebank: those "
    "alone, so that candidates without are left out; parser: nothing of the treebank's."
)

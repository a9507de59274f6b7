r"""What can be wrong with a row of a corpus: one table of rules, each a condition in SQL.

The kinds are documented in docs/sharing.md. The rules are held against rows without nulls where none may
be. Besides the columns of the files they name some that Python computes: ``due`` (the id that the content
should have), ``standing`` (of the licence: ``known``, ``unknown`` or ``barred``), ``harvested`` (``harvest``
made the row: its words are all the source's), and those of ``_DERIVED`` in ``corpus.candidate_checks``.
What a corpus holds reaches the conditions as columns and parameters only.

What no word may be stands in ``core.words``. Regular expressions are RE2's: ``\p{Z}`` is a class of Unicode.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from pipeline.core.structures import COMMA, PRECONJUNCTION_OF
from pipeline.core.types import COORDINATORS, LABEL, REFERENCE_LABELS, UNLABELLED
from pipeline.core.words import CONTROL, REPLACEMENT, SENTINEL, SPACE
from pipeline.corpus.candidate_checks import ANY, CHECKED, SPAN_RULES, Rule
from pipeline.corpus.engine import quoted
from pipeline.corpus.licences import LONGEST_OF_ROW, terms
from pipeline.corpus.statistics import SCORES
from pipeline.text.natural import SHOWN, join_words, split_words


@dataclass(frozen=True, slots=True)
class Expected:
    """What holds of the rows of one file: the parameters of the rules.

    Attributes:
        rejects: they are rejects, of which less can be asked.
        shared: they are of a release with text, which only some licences permit.
        generations: values that ``generation`` may have; None: nothing says which.
        coordinators: words, in lower case, that may stand at the coordinator.
        any_label: reference spans were given, under any label.
        rebuilt: the text of a stand-off release was put back by a user who has the source, whose
            licence does not permit to hand it on.
    """

    rejects: bool = False
    shared: bool = False
    generations: tuple[str, ...] | None = None
    coordinators: tuple[str, ...] = tuple(sorted(COORDINATORS))
    any_label: bool = False
    rebuilt: bool = False


def standing(licences: pa.StringArray) -> pa.StringArray:
    """Of each row's licence: ``known``, ``unknown``, or ``barred``: known, and not to be handed on."""
    codes = pc.dictionary_encode(licences)
    found = map(terms, codes.dictionary.to_pylist())
    kinds = [
        "unknown" if not t.known else "known" if t.redistributable else "barred" for t in found
    ]
    return pa.array(kinds, pa.string()).take(codes.indices)


_LONG = 10_000  # characters: no model wrote such a fill
SPECIAL_IN_FILL = "special token in the fill"
SOURCE_HAS_SPECIAL = "source contains a special token of the model"
"""As in ``infill.base``, which needs torch; a test holds them together."""

_MARKS = "MASK|CLS|SEP|PAD|UNK|mask|pad|unk|/s"
_CUT_SENTINEL = (
    rf"(^|\x1f)(\[\x1f({_MARKS})\x1f\]|<\x1f({_MARKS})\x1f>)(\x1f|$)"  # into three words
)
_NOT_REFUSED = (
    # Rejects that were for that very reason may have a sentinel.
    f"coalesce(cause, '') NOT IN ('{SPECIAL_IN_FILL}', '{SOURCE_HAS_SPECIAL}')"
)
_PLAIN = "^[A-Za-z0-9]+(-[A-Za-z0-9]+)*( [A-Za-z0-9]+(-[A-Za-z0-9]+)*)*$"
"""Fills of which the words are what stands between spaces, contractions apart."""
_CONTRACTED = r"(?i)\b(cannot|gimme|gonna|gotta|lemme|wanna)\b"


def _blank(name: str) -> str:
    return rf"regexp_full_match({name}, '[\s\v\x1c-\x1f\x{{85}}\p{{Z}}]*')"


def _score_rules(name: str) -> list[Rule]:
    message = f"{name} = {{{name}!r}}"
    return [
        Rule("score not finite", name, f"NOT isfinite({name})", message),
        # A sum of logarithms in float32 may be a little above zero.
        Rule("positive log-probability", name, f"isfinite({name}) AND {name} > 1e-3", message),
    ]


def _text_rules(name: str, text: str) -> list[Rule]:
    message = f"{name}: {{{name}}}"
    return [
        Rule("mask or sentinel in text", name,
             f"regexp_matches({text}, '{SENTINEL}') AND {_NOT_REFUSED}", message),
        Rule("control character in text", name, f"regexp_matches({text}, '{CONTROL}')", message),
        Rule("replacement character in text", name, f"regexp_matches({text}, '{REPLACEMENT}')", message),
    ]  # fmt: skip


def _word_rules(name: str) -> list[Rule]:
    joined, message = f"array_to_string({name}, chr(31))", f"{name}: {{{name}}}"
    return [
        *_text_rules(name, f"array_to_string({name}, ' ')"),
        Rule("mask or sentinel in text", name,
             f"regexp_matches({joined}, '{_CUT_SENTINEL}') AND {_NOT_REFUSED}", message),
        Rule("word with whitespace", name, f"regexp_matches({joined}, '{SPACE}')", message),
        Rule("empty word", name, f"list_contains({name}, '')", message),
    ]  # fmt: skip


def _fill_rules(needs: str, words: str, asked: str) -> list[Rule]:
    """The fill, cut into words, is the last conjunct; most fills need no tokenizer to tell.

    An attested fill is not cut: its words are a treebank's, and it is their natural text. So is that of
    natural text; where nothing says who made a row, either will do.
    """
    sure = (
        f"fill = array_to_string({words}, ' ') AND regexp_matches(fill, '{_PLAIN}') "
        f"AND NOT regexp_matches(fill, '{_CONTRACTED}')"
    )
    wrong = f"{asked} AND NOT coalesce({sure}, false)"

    def rule(kind: str, wrong: str, differs: Callable[[Mapping[str, Any]], bool]) -> Rule:
        message = lambda row: f"fill {row['fill']!r}, conjunct {' '.join(_inserted(row))!r}"  # noqa: E731
        return Rule(kind, needs, wrong, message, differs)

    def no_text(row: Mapping[str, Any]) -> bool:
        text: str = row["fill"]
        return join_words(_inserted(row)).text != text

    def not_cut(row: Mapping[str, Any]) -> bool:
        return _words(row["fill"]) != _inserted(row)

    kind = "fill differs from its conjunct"
    return [
        rule(kind, f"attested IS NOT TRUE AND harvested IS NOT TRUE AND {wrong}", not_cut),
        rule(kind, f"attested AND {wrong}", no_text),
        rule(kind, f"harvested AND {wrong}", lambda row: no_text(row) and not_cut(row)),
    ]


def _inserted(row: Mapping[str, Any]) -> list[str]:
    """The words of the last conjunct."""
    if "fill_words" in row:
        words, spans = row["fill_words"], row["conjuncts"]
        return list(words[-max(spans[-1]["end"] - spans[-1]["start"], 1) :] if spans else words)
    return list(row["words"][row["conjuncts"][-1]["start"] : row["conjuncts"][-1]["end"]])


@lru_cache(4096)
def _words(fill: str | None) -> list[str] | None:
    if fill is None or len(fill) > _LONG:
        return None
    try:
        return split_words(fill)
    except TimeoutError:  # nltk stops regular expressions after 5 seconds
        return None


_MOVED = """starts[1] = reference."start"::BIGINT + 1 AND ends[1] = reference."end"::BIGINT + 1"""
_PAIRABLE = ", ".join(map(quoted, PRECONJUNCTION_OF))


def _paired(before: str, word: str) -> str:
    pairs = (
        f"(lower({word}) = {quoted(c)} AND lower({before}) = {quoted(p)})"
        for c, p in PRECONJUNCTION_OF.items()
    )
    return f"({' OR '.join(pairs)})"


_AROUND = "list_bool_or(list_transform(list_zip(ends[:-2], starts[2:]), lambda s: {}))".format

_OTHER_COORDINATOR = "not a coordinator"

_STRUCTURE = [
    *SPAN_RULES,
    # Of three conjuncts or more a comma may stand before it.
    Rule("text between conjuncts is not the coordinator", "coordinator conjuncts",
         _AROUND("s[1] <= k AND k < s[2] AND NOT (s[2] = k + 1 AND (s[1] = k OR "
                 "(s[1] = k - 1 AND len(conjuncts) > 2)))"),
         "coordinator {coordinator}, conjuncts {conjuncts}"),
    Rule("text between conjuncts is not the coordinator", "coordinator conjuncts words",
         f"len(conjuncts) > 2 AND ends[-2] = k - 1 AND words[k] <> '{COMMA}'",
         "{words}: coordinator {coordinator}, conjuncts {conjuncts}"),
    # Generation inserts after the reference span, which so stays where it was in the source, but for a
    # preconjunction before it.
    Rule("reference differs from its conjunct", "coordinator conjuncts reference words",
         f"conjuncts[1] <> reference AND NOT ({_MOVED} AND "
         f"{_paired('words[starts[1]]', 'words[k + 1]')})",
         "reference {reference}, conjuncts {conjuncts}"),
    Rule("reference differs from its conjunct", "coordinator conjuncts reference word",
         f"conjuncts[1] <> reference AND NOT ({_MOVED} AND lower(word) IN ({_PAIRABLE}))",
         "reference {reference}, conjuncts {conjuncts}"),
    Rule(_OTHER_COORDINATOR, "coordinator conjuncts words",
         "k >= 0 AND k < n AND NOT list_contains($coordinators, lower(words[k + 1]))",
         lambda row: f"the coordinator is {row['words'][row['coordinator']]!r}"),
    # A stand-off release has the coordinator in a column of its own.
    Rule(_OTHER_COORDINATOR, "coordinator conjuncts word",
         "word IS NULL OR NOT list_contains($coordinators, lower(word))",
         "the coordinator is {word!r}"),
]  # fmt: skip
"""What is asked of rows with a coordinate structure: all but rejects without a usable fill."""

_BETWEEN = "text between conjuncts is not the coordinator"
"""Nobody put a coordinator into natural text, so other words may stand beside it there."""


def _asked(rule: Rule) -> Rule:
    """A rule of ``_STRUCTURE`` for the rows that it is asked of."""
    wrong = f"NOT ($rejects AND k = -1 AND len(conjuncts) = 0) AND ({rule.wrong})"
    return replace(
        rule, wrong=f"harvested IS NOT TRUE AND {wrong}" if rule.kind == _BETWEEN else wrong
    )


_DONOR = [
    Rule("id missing", "donor", f"attested AND {_blank('donor.sentence_id')}", "the donor's id is empty"),
    Rule("span outside sentence", "donor", 'attested AND donor."start" < 0',
         "the donor begins before its sentence"),
    Rule("empty span", "donor", 'attested AND donor."start" >= donor."end"', "the donor has no words"),
    Rule("donor in the source sentence", "donor sentence_id",
         "attested AND donor.sentence_id = sentence_id", "both are {sentence_id}"),
    Rule("donor differs from its conjunct", "donor conjuncts",
         """attested AND donor."end"::BIGINT - donor."start" - coalesce(lacking, 0)
            IS DISTINCT FROM ends[-1] - starts[-1]""",
         "donor {donor}, conjuncts {conjuncts}"),
    # The verb stands between the subject and what stays, at the same place of donor and conjunct.
    Rule("gap outside its conjunct", "gap donor conjuncts",
         """gap IS NOT NULL AND (NOT attested OR gap.at <= starts[-1] OR gap.at >= ends[-1]
            OR gap."start" >= gap."end" OR gap."end" >= donor."end"
            OR gap.at - starts[-1] <> gap."start"::BIGINT - donor."start")""",
         "gap {gap}, donor {donor}, conjuncts {conjuncts}"),
    Rule("id missing", "middle_donors", ANY("middle_donors", _blank("s.sentence_id")),
         "a donor's id is empty"),
    Rule("span outside sentence", "middle_donors", ANY("middle_donors", 's."start" < 0'),
         "a donor begins before its sentence"),
    Rule("empty span", "middle_donors", ANY("middle_donors", 's."start" >= s."end"'),
         "a donor has no words"),
    Rule("donor in the source sentence", "middle_donors sentence_id",
         ANY("middle_donors", "s.sentence_id = sentence_id"), "both are {sentence_id}"),
    # All conjuncts but the reference are attested, or none is.
    Rule("donor differs from its conjunct", "donor middle_donors conjuncts",
         """CASE WHEN attested THEN coalesce(list_transform(middle_donors,
                lambda s: s."end"::BIGINT - s."start"), []) <> list_transform(
                list_zip(starts[2:-2], ends[2:-2]), lambda s: s[2] - s[1])
            ELSE middle_donors IS NOT NULL END""",
         "donors {middle_donors}, conjuncts {conjuncts}"),
]  # fmt: skip
"""What is asked of the donors of attested fills."""

_SIGNS = "".join(f" WHEN {quoted(word)} THEN {quoted(sign)}" for word, sign in SHOWN.items())
_PRINTED = f"list_transform(words, lambda w: CASE w{_SIGNS} ELSE w END)"
_STARTS, _ENDS = (
    f"""list_transform(offsets, lambda s: s."{end}"::BIGINT)""" for end in ("start", "end")
)
_SPACED = (
    f"list_transform(list_zip({_PRINTED}, {_STARTS}[2:], {_ENDS}), "
    "lambda s: s[1] || CASE WHEN s[2] > s[3] THEN ' ' ELSE '' END)"
)
_NATURAL = [
    Rule("null value", "text offsets", "(text IS NULL) <> (offsets IS NULL)",
         "one of text and offsets is null"),
    Rule("offsets differ from the words", "offsets words",
         f"len(offsets) <> n OR {_STARTS}[1] <> 0 OR "
         + ANY(f"list_zip({_PRINTED}, {_STARTS}, {_ENDS})", "s[3] - s[2] <> length(s[1])") + " OR "
         + ANY(f"list_zip({_STARTS}[2:], {_ENDS}[:-2])", "s[1] - s[2] NOT IN (0, 1)"),
         "{offsets}, words: {words}"),
    Rule("text differs from its words", "text offsets words",
         f"offsets IS NOT NULL AND text <> array_to_string({_SPACED}, '')", "{text!r}, words: {words}"),
]  # fmt: skip
"""What is asked of the words as text: each stands at its offsets as it is printed, with one space or none
between two. Where a space belongs is not asked, so that text by other rules passes."""

_LABELS = ", ".join(f"'{label}'" for label in (*REFERENCE_LABELS, UNLABELLED))

RULES = [
    *(Rule("id missing", name, _blank(name), f"{name} is empty")
      for name in ("candidate_id", "sentence_id")),
    Rule("id differs from content", "candidate_id due", "candidate_id <> due", "it should be {due}"),
    Rule("invalid label", "label",
         f"NOT CASE WHEN $any_label OR harvested THEN regexp_full_match(label, '{LABEL}') "
         f"ELSE label IN ({_LABELS}) END", "{label!r}"),
    *(rule for name in SCORES for rule in _score_rules(name)),
    Rule("licence missing", "license", _blank("license"), "no licence"),
    Rule("licence too long", "license", f"length(license) > {LONGEST_OF_ROW}", "{license!r}"),
    # Without the words there is nothing that a licence could forbid: a stand-off release is made for that.
    Rule("licence unknown", "license standing words",
         f"standing = 'unknown' AND NOT $rebuilt AND NOT {_blank('license')}", "{license!r}"),
    Rule("text under a licence that forbids it", "license standing",
         "standing = 'barred' AND $shared AND NOT $rebuilt", "{license!r}"),
    Rule("generation unknown", "generation",
         "NOT list_contains($generations::VARCHAR[], generation)", "{generation!r}"),
    Rule("reject without reason", "reason", _blank("reason"), "the reason is empty"),
    Rule("empty span", "reference", 'reference."start" >= reference."end"',
         "the reference has no words"),
    # The source has no more words than what was made of it.
    Rule("span outside sentence", "reference",
         'reference."start" < 0 OR coalesce(reference."end" > n, false)',
         "the reference does not lie in the sentence"),
    *map(_asked, _STRUCTURE),
    *_DONOR,
    *_word_rules("words"),
    Rule("no words", "words", "n = 0", "a sentence without words"),
    *_NATURAL,
    *_word_rules("fill_words"),
    *_text_rules("fill", "fill"),
    *_fill_rules("fill words conjuncts", "words[starts[-1] + 1 : ends[-1]]",
                 "starts[-1] >= 0 AND starts[-1] <= ends[-1] AND ends[-1] <= n"),
    *_fill_rules("fill fill_words conjuncts",
                 "fill_words[len(fill_words) - ends[-1] + starts[-1] + 1 :]",
                 "fill IS NOT NULL AND fill_words IS NOT NULL"),
    # A stand-off release has a fill's text or its donor.
    Rule("null value", "fill fill_words",
         "attested IS NOT TRUE AND harvested IS NOT TRUE AND (fill IS NULL OR fill_words IS NULL)",
         "a fill without a donor"),
    Rule("text of the source", "fill fill_words",
         "harvested AND (fill IS NOT NULL OR fill_words IS NOT NULL)", "{fill!r}"),
    Rule("text of a donor", "fill fill_words donor",
         "attested AND (fill IS NOT NULL OR fill_words IS NOT NULL)", "{fill!r}"),
]  # fmt: skip
"""All rules for a row, in the order in which violations are reported."""

_READ_IN_TRAINING = frozenset((*CHECKED, "score", "harvested"))

EXAMPLE_RULES = [
    rule for rule in RULES
    if _READ_IN_TRAINING.issuperset(rule.needs.split()) and rule.kind != _OTHER_COORDINATOR
]  # fmt: skip
"""What is asked of rows as training reads them, wherever they are from: which coordinators were put in, and
whether labels were given, only their manifest says, so these may be any (``EXAMPLES``)."""

EXAMPLES = Expected(any_label=True)
"""What holds of such rows."""

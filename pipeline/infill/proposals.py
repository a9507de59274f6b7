"""Fills that a model proposes which cannot be synchronized, such as one behind an address.

They are proposed from either twin, and ranked by how likely the sentence then is in both orders. Each twin
is asked about by itself, so a proposal may fit one alone. That shows in its score: under S′(1) and S′(2) the
mean log-probability of the fill's tokens and of all that follows, joined as the synchronizer joins.
"""

import re
from collections.abc import Callable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from math import isfinite
from typing import Any

import torch
from transformers import PreTrainedTokenizerBase

from pipeline.core.settings import DecodingSettings
from pipeline.core.types import COORDINATORS, Attested, Donor, Reference, Reject
from pipeline.infill.attested import Ranker
from pipeline.infill.base import SPECIAL_IN_FILL, Fill, InfillRequest, fill_tokens
from pipeline.infill.batching import fill
from pipeline.infill.candidates import EMPTY, rows_of
from pipeline.infill.decoding import Limits, key_of
from pipeline.infill.prompts import Around, around_blank, twin_prompts
from pipeline.infill.rankings.protocol import ReferenceOptions
from pipeline.models.sampling import uniform
from pipeline.models.writers.protocol import Prompt, TextScore, Writer, WrittenAnswer
from pipeline.text.natural import split_words
from pipeline.text.segmentation import first_sentence

BEYOND = "not among the best proposals"
LONGER = "longer than three times the reference"
NO_ANSWER = "no completion"
NO_LOGPROBS = "no log-probabilities"
SHORTER = "shorter than a third of the reference"

_SHOWN = 3  # words of what follows the blank, by which it is recognised
_ROUNDING = 1e-3  # a sum of log-probabilities may be so much above zero
_TOKENS = 8  # of a completion, beside those of the fill
_LONGEST = 10_000  # characters of a fill; it takes time to part more into words
_TOKENS_A_WORD = 8  # of the reference, whose fill may have three times as many


Rank = Callable[[Sequence[tuple[Reference, Sequence[str]]]], list[list[Fill]]]
"""Makes a fill of each text that is proposed for a reference, with scores or the reason why it has none."""


def propose(
    writer: Writer,
    rank: Rank,
    references: Sequence[Reference],
    settings: DecodingSettings,
    coordinators: AbstractSet[str] = COORDINATORS,
) -> list[list[Fill]]:
    """Fills for references: of N proposals from each twin the N best, and the others with a reason.

    For each reference there is one at least, best first.

    Args:
        writer: the language model.
        rank: scores what can be used.
        references: what to coordinate.
        settings: coordinator, synchronization, N, and what no fill may hold.
        coordinators: of the corpus, in lower case.
    """
    arounds = [around_blank(each, settings.coordinator) for each in references]
    asked = [_prompts(reference, settings) for reference in references]
    answers = writer.complete([prompt for prompts in asked for prompt in prompts])
    fills, start = [], 0
    for reference, around, prompts in zip(references, arounds, asked, strict=True):
        own = answers[start : start + len(prompts)]
        start += len(prompts)
        sides = [around[part // settings.n] for part in range(len(prompts))]
        fills.append([_proposal(reference, *each) for each in zip(own, sides, strict=True)])
    rows = rows_of(references, fills, settings, coordinators)
    refused = [
        [
            replace(each, reason=row.reason) if isinstance(row, Reject) else each
            for each, row in zip(found, own_rows, strict=True)
        ]
        for found, own_rows in zip(fills, rows, strict=True)
    ]
    usable = [[each.text for each in found if each.reason is None] for found in refused]
    ranked = rank(list(zip(references, usable, strict=True)))
    return [_best_first(*each, settings.n) for each in zip(refused, ranked, strict=True)]


def _prompts(reference: Reference, settings: DecodingSettings) -> list[Prompt]:
    """N for each twin, which differ in their seeds."""
    key = key_of(reference)
    tokens = _TOKENS + _TOKENS_A_WORD * len(reference.span)
    twins = twin_prompts(reference, settings.coordinator)[: 2 if settings.sync else 1]
    return [
        replace(twin, seed=int(uniform(settings.seed, key, sample, part) * 2**31), tokens=tokens)
        for part, twin in enumerate(twins)
        for sample in range(settings.n)
    ]


def _proposal(reference: Reference, answer: WrittenAnswer, around: Around) -> Fill:
    if answer.text is None:
        return Fill("", reason=NO_ANSWER)
    text = cut_out(answer, around)
    if len(text) > _LONGEST:
        return Fill("", reason=LONGER)
    words, limits = len(split_words(text)), Limits.around(len(reference.span))
    if not words:
        return Fill("", reason=EMPTY)
    if words > limits.longest:
        return Fill(text, reason=LONGER)
    return Fill(text, reason=SHORTER if words < limits.shortest else None)


def cut_out(answer: WrittenAnswer, around: Around) -> str:
    """The fill in an answer: up to where the twin goes on after its blank, the line or the answer ends."""
    text = answer.text or ""
    if answer.begun == "asked":  # it may begin with an empty line
        text = text.lstrip()
    line = text.partition("\n")[0].strip()
    if (
        line[:1] == line[-1:] == '"' and line.count('"') == 2
    ):  # as the question quotes the reference
        line = line[1:-1].strip()
    # A full stop alone may be an abbreviation's.
    alone = around.after.strip() == "."
    if not alone and (found := _following(around.after, line)):
        return line[: found.start()].strip()
    # Where the answer ended without what follows, a full stop is its own.
    return first_sentence(line).removesuffix(".").strip()


def _following(after: str, line: str) -> re.Match[str] | None:
    """Where a line goes on as a twin does after its blank: its first words, or at the end fewer."""
    words = after.split()
    apart = r"(?:^|\s+)" if after[:1].isspace() else ""
    for count in range(min(_SHOWN, len(words)), 0, -1):
        shown = apart + r"\s+".join(map(re.escape, words[:count]))
        whole = count == min(_SHOWN, len(words))
        if found := re.search(shown + (r"(?!\w)" if whole else r"\s*$"), line):
            return found
    return None


def _best_first(proposals: Sequence[Fill], ranked: Sequence[Fill], most: int) -> list[Fill]:
    """The best, with scores; the others, with the reason why they are not among them."""
    scored = sorted((each for each in ranked if each.reason is None), key=_score, reverse=True)
    beyond = [replace(each, reason=BEYOND) for each in scored[most:]]
    failed = [each for each in ranked if each.reason is not None]
    refused = [each for each in proposals if each.reason is not None]
    return [*scored[:most], *beyond, *failed, *refused]


def _score(fill: Fill) -> float:
    return -torch.inf if fill.score is None else fill.score


def rank_by_texts(
    scored: Callable[[Sequence[str]], Sequence[TextScore | None]], request: InfillRequest
) -> Rank:
    """Ranks by the scores of texts, as a server gives them.

    Args:
        scored: the score of each text, in their order.
        request: coordinator, synchronizer, and whether there are two twins.
    """

    def rank(proposed: Sequence[tuple[Reference, Sequence[str]]]) -> list[list[Fill]]:
        parts = 2 if request.sync else 1
        twins = [around_blank(each, request.coordinator)[:parts] for each, _ in proposed]
        wanted: dict[str, TextScore | None] = {}
        for around, (_, texts) in zip(twins, proposed, strict=True):
            for each in around if texts else ():
                wanted |= dict.fromkeys([each.before] if each.before else [])
                wanted |= dict.fromkeys(_filled(each, text) for text in texts)
        known = dict(zip(wanted, scored(list(wanted)), strict=True))
        # Nothing stands before a blank that begins the sentence.
        known[""] = TextScore(0.0, 0)

        def fill_of(around: Sequence[Around], text: str) -> Fill:
            means = [_mean(known[each.before], known[_filled(each, text)]) for each in around]
            values = [torch.tensor(each, dtype=torch.float64) for each in means if each is not None]
            if len(values) < parts:
                return Fill(text, reason=NO_LOGPROBS)
            joint = float(request.synchronizer.combined(*values))
            return Fill(text, joint, means[0], means[1] if parts == 2 else None)

        return [
            [fill_of(around, text) for text in texts]
            for around, (_, texts) in zip(twins, proposed, strict=True)
        ]

    return rank


def _filled(around: Around, text: str) -> str:
    apart = " " if around.text[len(around.before) :].startswith(" ") else ""
    return f"{around.before}{apart}{text}{around.after}"


def _mean(before: TextScore | None, whole: TextScore | None) -> float | None:
    """The mean log-probability of the tokens that a text has beyond its beginning; None if it is none."""
    if before is None or whole is None or whole.tokens <= before.tokens:
        return None
    mean = (whole.total - before.total) / (whole.tokens - before.tokens)
    return mean if isfinite(mean) and mean <= _ROUNDING else None


def rank_by_model(ranker: Ranker[Any], tokenizer: PreTrainedTokenizerBase, budget: int) -> Rank:
    """Ranks with a language model that runs here.

    Args:
        ranker: it, asked for as many of the N best as there can be proposals.
        tokenizer: its tokenizer.
        budget: tokens of a batch.
    """

    def rank(proposed: Sequence[tuple[Reference, Sequence[str]]]) -> list[list[Fill]]:
        tokens = [fill_tokens(tokenizer, texts) for _, texts in proposed]
        choices: list[ReferenceOptions] = []
        places: list[int] = []
        for place, ((reference, texts), found) in enumerate(zip(proposed, tokens, strict=True)):
            options = [
                # Nobody's words: what the ranker wants is that they are told apart.
                (
                    Attested(
                        tuple(split_words(text)), Donor("", number, number), reference.license
                    ),
                    ids,
                )
                for number, (text, ids) in enumerate(zip(texts, found, strict=True))
                if ids
            ]
            if options:
                attested, ids = zip(*options, strict=True)
                choices.append(ReferenceOptions(reference, attested, tuple(map(tuple, ids))))
                places.append(place)
        scored = dict(zip(places, fill(ranker, choices, budget), strict=True))
        ranked = []
        for place, (_, texts) in enumerate(proposed):
            by_number = {
                each.attested.donor.start: each for each in scored.get(place, []) if each.attested
            }
            reasons = [each.reason for each in scored.get(place, []) if each.reason]
            why = reasons[0] if reasons else SPECIAL_IN_FILL
            ranked.append(
                [
                    replace(by_number[number], text=text, attested=None)
                    if number in by_number
                    else Fill(text, reason=why)
                    for number, text in enumerate(texts)
                ]
            )
        return ranked

    return rank

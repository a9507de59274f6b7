"""What the weights of a predictor were learned from, and the licence that they may be handed on under.

Weights are not the text they were learned from. But terms that forbid commercial use or derived works, or
that permit nothing, may bear on them, and no program can decide that. So where a licence permits to hand
altered text on, weights are taken to be under it as well; where it does not, or is not known, whoever
releases them has to declare theirs.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from pipeline.core.candidates import has_candidates
from pipeline.core.cards.models import PretrainCard
from pipeline.core.cards.predictors import LearnedFrom
from pipeline.core.corpus_folder import SENTENCES_FILE, corpus_name, trees_folder
from pipeline.core.documents import read_json
from pipeline.core.errors import ConjoinError, InputError
from pipeline.core.names import of_a_draw
from pipeline.core.parquet import read_rows
from pipeline.core.schema import TREES, read_sentences
from pipeline.core.settings import shown_place
from pipeline.corpus.handing_on import licences_of
from pipeline.corpus.layout import find_shards
from pipeline.corpus.licences import UNKNOWN, canonical, combined, terms
from pipeline.models.annotated import CARD as PRETRAINED
from pipeline.models.checkpoint_files import CHECKPOINT_RECORD
from pipeline.models.fetching import CheckpointRecord
from pipeline.models.known import checkpoints
from pipeline.models.loading import identity, is_predictor, locate
from pipeline.release.predictors.finished import FinishedRun, read_run

ENCODER, TEXTS = "the encoder", "texts that the encoder was pretrained on"
ANNOTATED, CANDIDATES = "annotated text", "candidates"
SUBSTITUTES = "text of substituted conjuncts"

_DEEPEST = 8  # models that each began with another


def learned_from(run: FinishedRun) -> tuple[list[LearnedFrom], str | None]:
    """What a predictor was learned from, and the name on the hub of the checkpoint it began with, if known.

    Raises:
        InputError: the corpus, or candidates in it, are damaged.
    """
    found, base = _encoder(run)
    for each in (*_annotated(run), *_candidates(run), *_substitutes(run)):
        if each not in found:  # as L is that of the run with whose encoder this one began
            found.append(each)
    return found, base


def _encoder(run: FinishedRun) -> tuple[list[LearnedFrom], str | None]:
    seed = int(run.card["seed"])
    name = str(run.settings.get("encoder") or "an encoder of an earlier version")
    name = of_a_draw(name, seed, run.draw)
    shown = shown_place(Path(name))
    nothing: LearnedFrom = {"part": ENCODER, "name": shown, "license": UNKNOWN}
    try:
        where = locate(name, run.corpus, seed)
    except ConjoinError:  # it is not at hand any more
        return [nothing], None
    if Path(where).is_dir() and identity(where) != run.card.get("model"):
        return [{**nothing, "name": f"{shown} (another model is there now)"}], None
    if is_predictor(where):
        try:
            return learned_from(read_run(Path(where).parent, None))
        except ConjoinError:  # it lies without its run, or that is damaged
            return [nothing], None
    return _checkpoint(where, run, nothing)


def _checkpoint(
    where: str, run: FinishedRun, nothing: LearnedFrom
) -> tuple[list[LearnedFrom], str | None]:
    """The same of one that is no predictor's, back to what others pretrained.

    Args:
        where: it is.
        run: that began with it.
        nothing: what is said of one that nothing is known of.
    """
    shown, seed = nothing["name"], int(run.card["seed"])
    found: list[LearnedFrom] = []
    for _ in range(_DEEPEST):
        folder = Path(where)
        if not folder.is_dir():
            return [*found, _of_the_hub(where)], where.partition("@")[0]
        if (folder / CHECKPOINT_RECORD).is_file():
            record: CheckpointRecord = read_json(folder / CHECKPOINT_RECORD, CheckpointRecord)
            if (known := checkpoints().get(record["name"])) is None:
                break
            entry: LearnedFrom = {
                "part": ENCODER, "name": record["name"], "license": known.licences["model"],
            }  # fmt: skip
            return [*found, entry], None if known.hub is None else known.hub.name
        if not (folder / PRETRAINED).is_file():
            break
        card: PretrainCard = read_json(folder / PRETRAINED, PretrainCard)
        found.append({"part": TEXTS, "name": shown, "license": UNKNOWN})
        if not card.get("base"):
            return found, None
        shown = shown_place(Path(str(card["base"])))
        try:
            where = locate(str(card["base"]), run.corpus, seed)
        except ConjoinError:
            break
    return [*found, {**nothing, "name": shown}], None


def _of_the_hub(where: str) -> LearnedFrom:
    """A checkpoint of the hub, whose licence is known if conjoin knows the checkpoint."""
    name = where.partition("@")[0]
    for known in checkpoints().values():
        if known.hub is not None and known.hub.name == name:
            return {"part": ENCODER, "name": where, "license": known.licences["model"]}
    return {"part": ENCODER, "name": where, "license": UNKNOWN}


def _annotated(run: FinishedRun) -> list[LearnedFrom]:
    """L and its validation sentences, by licence; of a corpus that is not at hand nothing is known."""
    if run.corpus is None:
        names = sorted({part.corpus for part in run.annotation})
        return [{"part": ANNOTATED, "name": ", ".join(names), "license": UNKNOWN}]
    count: Counter[str] = Counter()
    for source in (
        each for drawn in run.task.draw(run.corpus, run.card["seed"], run.draw) for each in drawn
    ):
        count[getattr(source, "sentence", source).license or UNKNOWN] += 1
    if run.settings.get("gold_of"):  # sentences of no draw, any of the training split
        path = run.corpus / SENTENCES_FILE
        for sentence in read_sentences(path, lambda each: each.split == "train"):
            count.setdefault(sentence.license, 0)
    name = corpus_name(run.corpus)
    found: list[LearnedFrom] = [
        {"part": ANNOTATED, "name": name, "license": licence, "rows": rows}
        for licence, rows in sorted(count.items())
    ]
    if run.settings.get("gold_of"):  # the parser may be another corpus's, which need not be at hand
        others = {part.corpus for part in run.annotation} - {name}
        found += [{"part": ANNOTATED, "name": each, "license": UNKNOWN} for each in sorted(others)]
    return found


def _candidates(run: FinishedRun) -> Iterator[LearnedFrom]:
    """The candidates by licence."""
    named = run.settings.get("candidates")
    if run.card["mode"] == "baseline" or not named:
        return
    folder = None if run.corpus is None else run.corpus / str(named)
    if folder is None or not has_candidates(folder):
        yield {"part": CANDIDATES, "name": shown_place(Path(named)), "license": UNKNOWN}
        return
    for licence, rows in licences_of(replace(find_shards(folder), rejects=())).items():
        yield {"part": CANDIDATES, "name": str(named), "license": licence, "rows": rows}


def _substitutes(run: FinishedRun) -> Iterator[LearnedFrom]:
    """The text whose constituents stood in the place of L's conjuncts, by licence."""
    if run.settings.get("augment") != "substitute":
        return
    folder = None if run.corpus is None else trees_folder(run.corpus)
    shards = [] if folder is None else sorted(folder.glob("trees-*.parquet"))
    count = Counter(str(row["license"]) for path in shards for row in read_rows(path, TREES))
    name = SUBSTITUTES if run.corpus is None else corpus_name(run.corpus)
    if not count:
        yield {"part": SUBSTITUTES, "name": name, "license": UNKNOWN}
    for licence, rows in sorted(count.items()):
        yield {"part": SUBSTITUTES, "name": name, "license": licence, "rows": rows}


def licence_of_weights(
    sources: Sequence[LearnedFrom], declared: str | None, place: Path
) -> tuple[str, bool]:
    """The licence of a predictor, and whether the declared one is part of it.

    Args:
        sources: what it was learned from.
        declared: the licence that whoever releases it names; None: none.
        place: the run, for the message.

    Raises:
        InputError: one of the sources permits nothing to be handed on, or is not known, and no licence was
            declared, or one of that kind.
    """
    closed = [each for each in sources if not terms(each["license"]).redistributable]
    for each in closed[:1]:
        found = terms(each["license"])
        if declared is None:
            raise InputError(
                f"the weights are learned from {each['part']} ({each['name']}) of licence "
                f"{each['license'][:200]!r}: {found.why}",
                path=place,
                remedy="name the licence that you may hand weights on under with `--license`",
            )
        if not terms(declared).redistributable:
            raise InputError(
                f"--license {declared}: {terms(declared).why}", path=place,
                remedy="weights under such terms are not handed on",
            )  # fmt: skip
    parts = [each["license"] for each in sources if each not in closed]
    if closed and declared is not None:
        parts.append(canonical(declared))
    return combined(parts), bool(closed)

"""Training a parser on sentences of a corpus, once: one that is current is not trained again."""

from collections.abc import Callable, Sequence, Set
from pathlib import Path

import torch
from accelerate import PartialState

from pipeline.core.annotation import Annotation, as_json
from pipeline.core.cards.parser import Learned, ParserCard, ParserTraining
from pipeline.core.claims import Claim, Listed, mark_of
from pipeline.core.console import say
from pipeline.core.device import best_device, warn_of_slow_bf16
from pipeline.core.documents import read_json
from pipeline.core.errors import InputError
from pipeline.core.files import FileFacts, folder_lock, write_json
from pipeline.core.fingerprint import Fingerprint, Output
from pipeline.core.types import Sentence
from pipeline.executor import launch
from pipeline.parsing.card import LEARNED
from pipeline.parsing.encoders import ENCODER, Encoder, words_encoder
from pipeline.parsing.parser import CARD, REMEDY, given_tags, load_parser, tags_for
from pipeline.parsing.settings import ParserSettings
from pipeline.parsing.tagging import TAGGER, train_tagger
from pipeline.parsing.taught import TaughtTrees, mixed
from pipeline.parsing.training import MODEL, PRETRAIN, bracket_f1, train_parser, training_tree
from pipeline.text.trees import parse_tree

ALGORITHM = 2
"""Raise it when a code change changes the parser made from the same settings and sentences: it is then
stale, and so are its trees."""

ENCODERS = ("transformers", "tokenizers")
"""Packages whose versions count where a parser reads an encoder."""

Examples = Callable[[], tuple[list[Sentence], list[Sentence]]]
"""Finds the sentences to learn from and those to choose the epoch by; all have trees."""

Teaching = Callable[[Set[str]], TaughtTrees]
"""Finds what is learned from beside the examples, given the ids of the sentences among those."""

Annotated = Callable[[list[Sentence], list[Sentence]], Annotation]
"""The record of a parser of those sentences."""


def made_by_one(folder: Path, threads: int, make: Callable[[], ParserCard]) -> ParserCard:
    """What ``make`` returns, called so that of all processes one makes what lies in the folder."""
    launch.pin(threads)
    claim = Claim(folder, "preparse", earlier=_earlier, parts=_PARTS, alone=False)
    claim.check()
    if launch.in_launch():
        with PartialState(cpu=not torch.cuda.is_available()).main_process_first():
            return make()
    with folder_lock(folder):
        claim.take()
        return make()


_PARTS = (CARD, MODEL, PRETRAIN, LEARNED, TAGGER, f"{ENCODER}/*")


def _earlier(folder: Path) -> Listed:
    """The files of a parser that lies in a folder; all that it can have where it is not finished."""
    try:
        record = parser_output(folder, Fingerprint()).read()
    except InputError:  # of a ready parser, or of an earlier version
        record = None
    if record:
        return {CARD, *record.files}
    if not mark_of(folder, "preparse") and not _is_card(folder / CARD):
        return None
    return {p.relative_to(folder).as_posix() for part in _PARTS for p in folder.glob(part)}


def _is_card(path: Path) -> bool:
    try:
        read_json(path, ParserCard)
    except InputError:
        return False
    return True


def parser_output(folder: Path, fingerprint: Fingerprint) -> Output:
    """A parser trained here, whose card is the record of its files."""
    return Output(folder, folder / CARD, fingerprint)


def ensure_trained(
    folder: Path,
    fingerprint: Fingerprint,
    settings: ParserSettings,
    examples: Examples,
    annotated: Annotated,
    *,
    encoder: str | None = None,
    taught: Teaching | None = None,
    patience: int = 0,
) -> ParserCard:
    """Train the parser of a folder, unless the one that is there was made from the same inputs.

    Args:
        folder: where it goes.
        fingerprint: everything that it depends on, the choice of the examples among it.
        settings: how it is trained.
        examples: what it learns from; called only if it is needed.
        annotated: says what was annotated of these.
        encoder: checkpoint of the language model that words come from, beside the trees.
        taught: finds what it learns from another parser, called only if it is needed; then half of what
            it sees is gold.
        patience: epochs that are not better than the best, after which it ends; 0: it has all of them.

    Returns:
        Its card: ``source`` (the file in the folder), ``wrapper`` (root label of the treebank's trees),
        ``training`` (what was learned from, and how well) and, but for an earlier version's, ``annotation``.

    Raises:
        InputError: no trees to learn from, or trees that are not of their words.
    """
    output = parser_output(folder, fingerprint)
    if output.state().kind == "current":
        record = output.require()
        if LEARNED not in record.files or record.facts.get("tagged") is None:
            # An earlier version made it, of the very sentences that are found now.
            train, dev = examples()
            own = {"source", "wrapper", "training"}
            known = {name: value for name, value in record.facts.items() if name in own}
            output.begin()
            beside, tagged = _write_beside(folder, settings.seed, train, dev)
            annotation = {"annotation": as_json(annotated(train, dev))}
            output.finish({**record.files, **beside}, known | tagged | annotation)
        say("the parser is already there and current")
    else:
        train, dev = examples()
        output.begin()
        own = {sentence.sentence_id for sentence in (*train, *dev)}
        words = None if encoder is None else words_encoder(encoder)  # before another parser's hours
        also = taught(own) if taught else None
        facts = _train(folder, settings, train, dev, words, also, patience)
        beside, tagged = _write_beside(folder, settings.seed, train, dev, also)
        names = [MODEL, PRETRAIN]
        if encoder is not None:
            names += sorted(f"{ENCODER}/{path.name}" for path in (folder / ENCODER).iterdir())
        files = {name: FileFacts.of(folder / name) for name in names}
        output.finish(
            files | beside, {**facts, **tagged, "annotation": as_json(annotated(train, dev))}
        )
    card: ParserCard = read_json(folder / CARD, ParserCard, remedy=REMEDY)
    return card


def _write_beside(
    folder: Path,
    seed: int,
    train: Sequence[Sentence],
    dev: Sequence[Sentence],
    taught: TaughtTrees | None = None,
) -> tuple[dict[str, FileFacts], dict[str, bool]]:
    """Write what the parser learned from and, where that has tags, a tagger; the card says whether."""
    trees, watched = (sorted(sentence.sentence_id for sentence in part) for part in (train, dev))
    ids = Learned(trees=trees, dev=watched)
    if taught:
        ids["taught"] = sorted(taught.ids)
    write_json(folder / LEARNED, ids)
    (folder / TAGGER).unlink(missing_ok=True)
    tagged = train_tagger(folder / TAGGER, ((s.words, s.tags) for s in train), seed)
    names = (LEARNED, TAGGER) if tagged else (LEARNED,)
    return {name: FileFacts.of(folder / name) for name in names}, {"tagged": tagged}


def _train(  # noqa: PLR0917 - called once, in the order of what it is made of
    folder: Path,
    settings: ParserSettings,
    train: Sequence[Sentence],
    dev: Sequence[Sentence],
    words: Encoder | None,
    taught: TaughtTrees | None,
    patience: int,
) -> ParserCard:
    tagged = settings.tags == "treebank"
    if settings.mixed_precision == "bf16":
        warn_of_slow_bf16(best_device())
    taught_trees = [training_tree(tree, of, None) for of, tree in taught.trees] if taught else []
    best = train_parser(
        folder,
        mixed([_training_tree(s, tagged) for s in train], taught_trees),
        [_training_tree(s, tagged) for s in dev],
        epochs=settings.parser_epochs,
        hidden=settings.parser_hidden,
        tagged=tagged,
        seed=settings.seed,
        encoder=words,
        encoder_rate=settings.parser_lm_rate,
        precision=settings.mixed_precision,
        patience=patience,
    )
    roots = {parse_tree(s.tree or "").label() for s in train}
    wrapper = roots.pop() if len(roots) == 1 and roots <= {"S1", "ROOT", "TOP"} else None
    parser = load_parser(str(folder / MODEL))
    parser.precision = settings.mixed_precision
    guess = parser.parse(
        [sentence.words for sentence in dev], tags_for(parser, dev), at_once=settings.batch_size
    )
    training: ParserTraining = {
        "trees": len(train),
        "dev_trees": len(dev),
        "f1": round(bracket_f1([parse_tree(s.tree or "") for s in dev], guess), 4),
        "epochs": settings.parser_epochs,
        "best_epoch": best,
        "hidden": settings.parser_hidden,
        "tags": settings.tags,
        "seed": settings.seed,
    }
    if patience:
        training["patience"] = patience
    if settings.mixed_precision != "no":
        training["mixed_precision"] = settings.mixed_precision
    if taught:
        training["taught"] = len(taught_trees)
    return {"source": MODEL, "wrapper": wrapper, "training": training}


def _training_tree(sentence: Sentence, tagged: bool) -> str:
    tags = given_tags(sentence) if tagged else None
    try:
        return training_tree(parse_tree(sentence.tree or ""), sentence.words, tags)
    except ValueError as error:
        raise InputError(
            f"tree and words differ: {error}", sentence_id=sentence.sentence_id
        ) from error

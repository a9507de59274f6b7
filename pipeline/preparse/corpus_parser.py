"""The parser of a corpus: trained on the corpus's own treebank (§3.3), or made elsewhere."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from random import Random

from pipeline.core.annotation import Annotation, as_json
from pipeline.core.cards.parser import ParserCard
from pipeline.core.corpus_folder import SENTENCES_FILE, draw_file, parser_folder, tree_set
from pipeline.core.draws import read_draw, read_draw_file
from pipeline.core.errors import InputError
from pipeline.core.files import json_text, sha256_of, write_json
from pipeline.core.fingerprint import Fingerprint, versions_of
from pipeline.core.schema import read_sentences
from pipeline.core.types import Sentence, is_unlabelled_seed
from pipeline.models.loading import locate_encoder
from pipeline.parsing.annotated import annotation_of_source, learned
from pipeline.parsing.card import TREEBANK, parser_identity, source_of
from pipeline.parsing.encoders import encoder_inputs
from pipeline.parsing.labelled import LabelledParser
from pipeline.parsing.making import ALGORITHM, ENCODERS, ensure_trained
from pipeline.parsing.parser import CARD, load_parser
from pipeline.parsing.taught import Taught
from pipeline.preparse.settings import LABELLED, TRAIN, PreparseSettings

_DEV = 300  # development trees that F1 is measured on, at most


def ensure_parser(settings: PreparseSettings, gold: Callable[[], Annotation]) -> ParserCard:
    """Make the corpus's parser, unless the one that is there was made from the same inputs.

    Args:
        settings: the stage's.
        gold: the record of the trees that ``treebank`` takes.

    Returns:
        The card: ``source`` (``treebank``, a file in the folder, or what stanza is to load),
        ``wrapper`` (root label of the treebank's trees), and ``training`` (what was learned from, and
        how well; None where nothing was). For a parser trained here the card is the record of its
        files.

    Raises:
        InputError: no trees to learn from, or fewer than are asked for; there is no such draw, or no such
            parser, or it is the one that it would replace.
        ModelError: the parser that is named cannot be loaded.
    """
    folder = parser_folder(settings.corpus, settings.named)
    if settings.labelled is not None:
        read_draw_file(settings.corpus, settings.seed, settings.labelled, SENTENCES_FILE)
    if settings.parser not in (TRAIN, LABELLED):
        return _made_elsewhere(settings.parser, folder, gold)
    encoder = None
    if settings.parser_lm is not None:
        encoder = locate_encoder(settings.parser_lm, settings.corpus, settings.seed)
    if settings.parser == LABELLED and settings.labelled is not None:
        return LabelledParser(
            folder, settings.corpus, settings.labelled, settings, encoder,
            settings.more_trees, settings.min_words, _taught(settings),
        ).make()  # fmt: skip
    return ensure_trained(
        folder, _fingerprint(settings, encoder), settings, lambda: _examples(settings),
        partial(learned, settings.corpus, encoder=encoder), encoder=encoder,
    )  # fmt: skip


def _made_elsewhere(given: str, folder: Path, gold: Callable[[], Annotation]) -> ParserCard:
    """The card of the treebank, of a ready parser or of one that is lent, in the place of what was there.

    It loads first: by a slip of its name nobody loses a parser that took hours.
    """
    source = source_of(given)
    if source.endswith(".pt") and Path(source).resolve().parent == folder.resolve():
        raise InputError(
            "this is the corpus's own parser, which it cannot lend to itself", path=Path(given),
            remedy="leave out --parser: with the other options as before it is kept",
        )  # fmt: skip
    annotation = gold() if source == TREEBANK else annotation_of_source(source)
    card: ParserCard = {
        "source": source,
        "wrapper": None,
        "training": None,
        "annotation": as_json(annotation),
    }
    if source.endswith(".pt"):
        card["lent"] = str(parser_identity(card)["sha256"])
    there = folder / CARD
    again = there.is_file() and there.read_bytes() == json_text(card).encode()
    if source != TREEBANK and not again:
        load_parser(source)
    write_json(there, card)
    return card


def _taught(settings: PreparseSettings) -> Taught | None:
    """What the parser is to learn from another one, by the names that were given."""
    if settings.also is None or settings.teacher is None or settings.labelled is None:
        return None
    named = tree_set(settings.teacher, settings.labelled, settings.seed)
    return Taught(settings.also, parser_folder(settings.corpus, named))


def _fingerprint(settings: PreparseSettings, encoder: str | None) -> Fingerprint:
    fields = {"min_words", "seed", "tags", "threads", *settings.of_encoder}
    fields |= {"parser_epochs", "parser_hidden", "parser_trees"}
    inputs = {"sentences": sha256_of(settings.corpus / SENTENCES_FILE)}
    # What is unset leaves a parser as it was before there was such a thing.
    if settings.labelled is not None:
        fields |= {"labelled"}
        inputs["draw"] = sha256_of(settings.corpus / draw_file(settings.seed, settings.labelled))
    if encoder is not None:
        inputs |= encoder_inputs(encoder)
    return Fingerprint(
        settings=settings.model_dump(mode="json", include=fields),
        inputs=inputs,
        algorithm=ALGORITHM,
        versions=versions_of("stanza", "torch", *(ENCODERS if encoder else ())),
    )


def _examples(settings: PreparseSettings) -> tuple[list[Sentence], list[Sentence]]:
    """Training trees outside U, so that the trees of U are predictions; and trees to score on.

    Of a draw that is named the labelled and validation sentences are left out.
    """
    source, drawn = settings.corpus / SENTENCES_FILE, set[str]()
    if settings.labelled is not None:
        draw = read_draw(settings.corpus, settings.seed, settings.labelled)
        drawn = {sentence.sentence_id for part in draw for sentence in part}
    train = [
        sentence
        for sentence in read_sentences(source, lambda s: s.tree is not None and s.split == "train")
        if not is_unlabelled_seed(sentence, settings.min_words)
        and sentence.sentence_id not in drawn
    ]
    dev = list(read_sentences(source, lambda s: s.tree is not None and s.split == "dev"))
    if len(train) < 2:
        raise InputError(
            "no training trees outside the unlabelled sentences to learn from",
            path=source,
            remedy="name another with --parser: a corpus that has one (data/world), or a stanza package "
            "(ptb3-revised_charlm)",
        )
    train = _draw(train, settings.parser_trees + (0 if dev else _DEV), f"parser/{settings.seed}")
    if dev:
        dev = _draw(dev, _DEV, f"parser-dev/{settings.seed}")
    else:
        cut = min(_DEV, max(1, len(train) // 10))
        train, dev = train[cut:][: settings.parser_trees], train[:cut]
    if len(train) < settings.parser_trees and settings.named is not None:
        raise InputError(
            f"{len(train):,} trees are left outside the draw and U, and {settings.parser_trees:,} are asked "
            "for", path=source, remedy=f"say --parser-trees {len(train)} or fewer",
        )  # fmt: skip
    return train, dev


def _draw(sentences: list[Sentence], count: int, seed: str) -> list[Sentence]:
    ordered = sorted(sentences, key=lambda s: s.sentence_id)
    return Random(seed).sample(ordered, min(count, len(ordered)))

"""The parser of a corpus: trained on the corpus's own treebank (§3.3), or made elsewhere."""

from pathlib import Path
from random import Random
from typing import Any

from pipeline.core.corpus_folder import SENTENCES_FILE
from pipeline.core.errors import InputError
from pipeline.core.files import sha256_of, write_json
from pipeline.core.fingerprint import Fingerprint, versions_of
from pipeline.core.schema import read_sentences
from pipeline.core.types import Sentence, is_unlabelled_seed
from pipeline.parsing.card import source_of
from pipeline.parsing.making import ALGORITHM, ensure_trained
from pipeline.parsing.parser import CARD
from pipeline.preparse.settings import Preparse

_DEV = 300  # development trees that F1 is measured on, at most


def ensure_parser(settings: Preparse) -> dict[str, Any]:
    """Make the corpus's parser, unless the one that is there was made from the same inputs.

    Args:
        settings: the stage's.

    Returns:
        The card: ``source`` (``treebank``, a file in the folder, or what stanza is to load),
        ``wrapper`` (root label of the treebank's trees), and ``training`` (what was learned from, and
        how well; None where nothing was). For a parser trained here the card is the record of its
        files.

    Raises:
        InputError: no trees to learn from.
    """
    folder = settings.corpus / "parser"
    if settings.parser != "train":
        card = {"source": source_of(settings.parser), "wrapper": None, "training": None}
        write_json(folder / CARD, card)
        return card
    source = settings.corpus / SENTENCES_FILE
    fingerprint = _fingerprint(settings)
    return ensure_trained(folder, fingerprint, settings, lambda: _examples(settings, source))


def _fingerprint(settings: Preparse) -> Fingerprint:
    fields = {"min_words", "seed", "tags", "threads"}
    fields |= {"parser_epochs", "parser_hidden", "parser_trees"}
    return Fingerprint(
        settings=settings.model_dump(mode="json", include=fields),
        inputs={"sentences": sha256_of(settings.corpus / SENTENCES_FILE)},
        algorithm=ALGORITHM,
        versions=versions_of("stanza", "torch"),
    )


def _examples(settings: Preparse, source: Path) -> tuple[list[Sentence], list[Sentence]]:
    """Training trees outside U, so that the trees of U are predictions; and trees to score on."""
    train = [
        sentence
        for sentence in read_sentences(source, lambda s: s.tree is not None and s.split == "train")
        if not is_unlabelled_seed(sentence, settings.min_words)
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
    if not dev:
        cut = min(_DEV, max(1, len(train) // 10))
        return train[cut:][: settings.parser_trees], train[:cut]
    return train, _draw(dev, _DEV, f"parser-dev/{settings.seed}")


def _draw(sentences: list[Sentence], count: int, seed: str) -> list[Sentence]:
    ordered = sorted(sentences, key=lambda s: s.sentence_id)
    return Random(seed).sample(ordered, min(count, len(ordered)))

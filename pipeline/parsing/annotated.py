"""What people had annotated for a parser: which sentences it learned from, and which chose its epoch."""

from collections.abc import Sequence, Set
from pathlib import Path
from typing import Literal

from pipeline.core.annotation import (
    LABELLED,
    OTHERS,
    VALIDATION,
    Annotation,
    from_json,
    joined,
    part_of,
    unknown,
)
from pipeline.core.cards.parser import Learned
from pipeline.core.corpus_folder import SENTENCES_FILE, corpus_around, corpus_name
from pipeline.core.documents import read_json
from pipeline.core.draws import draw_name, every_draw
from pipeline.core.schema import read_sentences
from pipeline.core.types import Sentence
from pipeline.models.annotated import annotation_of_model
from pipeline.parsing.card import LEARNED, learned_from, parser_identity, read_card
from pipeline.parsing.parser import CARD
from pipeline.parsing.training import MODEL


def learned(
    corpus: Path,
    train: Sequence[Sentence],
    dev: Sequence[Sentence],
    *,
    draw: str | None = None,
    labelled: Set[str] = frozenset(),
    encoder: str | None = None,
) -> Annotation:
    """The record of a parser that is trained on trees of a corpus.

    Args:
        corpus: the corpus folder.
        train: sentences whose trees it learns from.
        dev: those that choose its epoch or that it is measured on; with ``draw`` the validation sentences.
        draw: name of the draw that ``labelled`` and ``dev`` are of; None: no draw has a part in it.
        labelled: ids of L, of which ``train`` has some.
        encoder: checkpoint of the language model that it reads.

    Raises:
        InputError: the file of a draw, or what ``pretrain`` says of the encoder, is damaged.
    """
    name, draws = corpus_name(corpus), every_draw(corpus)
    own = [sentence for sentence in train if sentence.sentence_id in labelled]
    others = [sentence for sentence in train if sentence.sentence_id not in labelled]
    parts = list(annotation_of_model(encoder)) if encoder else []
    if own:
        parts.append(part_of(name, LABELLED, own, trees=True, draw=draw, draws=draws))
    if others:
        parts.append(part_of(name, OTHERS, others, trees=True, draws=draws))
    if dev:
        kind: Literal["validation", "others"] = VALIDATION if draw else OTHERS
        parts.append(
            part_of(name, kind, dev, trees=True, draw=draw, use="chosen", draws=draws)
        )  # fmt: skip
    return joined(parts)


def annotation_of_parser(folder: Path) -> Annotation:
    """The record of the parser of a folder, such as CORPUS/parser.

    That of one that an earlier version trained follows from the ids that it learned from, where the corpus
    is around it. A lent parser has its lender's; of a ready one nothing is known.

    Raises:
        InputError: there is no parser, or a file beside it is not as its card says.
    """
    card = read_card(folder)
    if "annotation" in card:
        return from_json(card["annotation"])
    if "files" not in card:
        return annotation_of_source(card["source"])
    files = card["files"]
    name = str(parser_identity(card)["name"]) if MODEL in files else "a parser"
    corpus = corpus_around(folder.resolve())
    if LEARNED not in files or corpus is None:
        return unknown(name)
    wanted = learned_from(folder)
    ids: Learned = read_json(folder / LEARNED, Learned)
    source = corpus / SENTENCES_FILE
    found = {s.sentence_id: s for s in read_sentences(source, lambda s: s.sentence_id in wanted)}
    if len(found) < len(wanted):
        return unknown(name)
    made_of = card.get("about", {}).get("settings", {})
    draw = None
    if "labelled" in made_of:
        draw = draw_name(made_of.get("seed", 0), made_of["labelled"])
    train, dev = ([found[each] for each in ids[part]] for part in ("trees", "dev"))
    own = frozenset(ids["trees"]) if draw else frozenset[str]()
    return learned(corpus, train, dev, draw=draw, labelled=own)


def annotation_of_source(source: str) -> Annotation:
    """The record of what stanza is to load.

    Args:
        source: of ``card.source_of``: a ``.pt`` file or a package.

    Raises:
        InputError: there is no such file; as ``annotation_of_parser``.
    """
    beside = Path(source).parent
    if source.endswith(".pt") and (beside / CARD).is_file():
        return annotation_of_parser(beside)
    return unknown(str(parser_identity({"source": source})["name"]))


def gold_part(corpus: Path, sentences: Sequence[Sentence]) -> Annotation:
    """The record of who takes the treebank's own trees of some sentences.

    Args:
        corpus: the corpus folder.
        sentences: those of them without a tree do not count.
    """
    with_trees = [sentence for sentence in sentences if sentence.tree is not None]
    return learned(corpus, with_trees, [])

"""The parser of a corpus: stanza's, trained on the corpus's own treebank (§3.3) or made elsewhere.

Stanza has put trees on the wrong sentence before (its issues 882, 970, 997) and gives up a whole
call for one bad sentence, so every tree is checked against its words and a failing batch is parsed
again sentence by sentence.

``CORPUS/parser/parser.json`` says which parser it is and, for one trained here, of what it was made: a
run that finds it current does not train again.
"""

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any, NotRequired

import stanza
import torch
from nltk.tree import Tree
from stanza.models.constituency.trainer import Trainer
from typing_extensions import TypedDict

from pipeline.core.console import say
from pipeline.core.corpus_folder import SENTENCES_FILE
from pipeline.core.documents import Count, Number, PlaceName, read_json
from pipeline.core.errors import InputError, ModelError
from pipeline.core.files import FileFacts, digest_of, sha256_of, write_json
from pipeline.core.fingerprint import Fingerprint, Output, versions_of
from pipeline.core.names import is_plain_name
from pipeline.core.schema import read_sentences
from pipeline.core.types import Sentence, is_unlabelled_seed
from pipeline.preparse.parser_training import (
    MODEL,
    PRETRAIN,
    ROOT,
    bracket_f1,
    quiet,
    train_parser,
    training_tree,
)
from pipeline.preparse.settings import Preparse
from pipeline.text.trees import escape, parse_tree, unescape


class _File(TypedDict):
    sha256: str


class _Training(TypedDict, total=False):
    trees: Count
    dev_trees: Count
    epochs: Count
    best_epoch: Count
    f1: Number


class Card(TypedDict):
    """What is read of ``parser.json``."""

    source: PlaceName
    wrapper: str | None
    training: _Training | None
    files: NotRequired[dict[str, _File]]


class _Beside(TypedDict):
    """What is read of the card beside a parser's file."""

    wrapper: NotRequired[str | None]
    files: NotRequired[dict[str, _File]]


CARD = "parser.json"
"""File in CORPUS/parser that says which parser made the trees; ``corpus_parser`` writes it."""

_Words = Sequence[str]
_Run = Callable[[Sequence[_Words], Sequence[_Words]], list[Any]]


@dataclass(frozen=True, slots=True)
class Parsed:
    """The outcome for one sentence: a tree whose leaves are the words, or the reason for none."""

    tree: Tree | None
    reason: str | None


class Parser:
    """Parses pretokenised sentences.

    Attributes:
        name: what stands in the ``parser`` column of the trees.
        needs_tags: whether ``parse`` must be given part-of-speech tags.
    """

    def __init__(self, name: str, run: _Run, *, needs_tags: bool, wrapper: str | None) -> None:
        self.name, self.needs_tags = name, needs_tags
        self._run, self._wrapper = run, wrapper

    def parse(
        self, sentences: Sequence[_Words], tags: Sequence[_Words] | None = None
    ) -> list[Tree | None]:
        """One tree per sentence, in order; None where there is none.

        Args:
            sentences: words as in ``Sentence.words``.
            tags: a tag per word, for a parser that needs them.

        Raises:
            ModelError: the parser needs tags and has none.
        """
        return [parsed.tree for parsed in self.outcomes(sentences, tags)]

    def outcomes(
        self, sentences: Sequence[_Words], tags: Sequence[_Words] | None = None
    ) -> list[Parsed]:
        """As ``parse``, with the reason for each missing tree."""
        if self.needs_tags and tags is None:
            raise ModelError(
                f"parser {self.name} was trained with part-of-speech tags",
                remedy="parse a treebank with --tags treebank, or train one with --tags none",
            )
        given = tags or [["XX"] * len(words) for words in sentences]
        outcomes = [Parsed(None, _defect(words)) for words in sentences]
        sound = [index for index, parsed in enumerate(outcomes) if parsed.reason is None]
        batch = self._attempt([sentences[i] for i in sound], [given[i] for i in sound])
        if any(parsed.reason for parsed in batch):
            batch = [self._attempt([sentences[i]], [given[i]])[0] for i in sound]
        for index, parsed in zip(sound, batch, strict=True):
            outcomes[index] = parsed
        return outcomes

    def _attempt(self, sentences: Sequence[_Words], tags: Sequence[_Words]) -> list[Parsed]:
        if not sentences:
            return []
        try:
            with quiet():
                trees = self._run(sentences, tags)
        except torch.OutOfMemoryError:
            raise  # the machine's fault, not the sentence's
        except (AssertionError, IndexError, RuntimeError, TypeError, ValueError) as error:
            return [Parsed(None, f"stanza failed: {type(error).__name__}")] * len(sentences)
        if len(trees) != len(sentences):  # stanza leaves broken ones out, which shifts the rest
            return [Parsed(None, "no tree found")] * len(sentences)
        return [self._checked(tree, words) for tree, words in zip(trees, sentences, strict=True)]

    def _checked(self, tree: Any, words: _Words) -> Parsed:
        if tree is None:
            return Parsed(None, "no tree found")
        found = [unescape(word) for word in tree.leaf_labels()]
        if found != [unescape(word) for word in words]:
            return Parsed(None, "leaves differ from words")
        return Parsed(_converted(tree, words, self._wrapper), None)


def _defect(words: _Words) -> str | None:
    if not words:
        return "no words"
    if any(not word or word.split() != [word] for word in words):
        return "an empty word or a blank inside a word"
    return None


def _converted(tree: Any, words: _Words, wrapper: str | None) -> Tree:
    """Stanza's tree as an nltk tree, with these words and the treebank's own root label."""
    position = iter(words)

    def convert(node: Any) -> Tree:
        if node.is_preterminal():
            return Tree(node.label, [escape(next(position))])
        return Tree(node.label, [convert(child) for child in node.children])

    converted = convert(tree)
    if converted.label() == ROOT and len(converted) == 1:
        converted = converted[0]
    if wrapper is not None and converted.label() != wrapper:
        converted = Tree(wrapper, [converted])
    return converted


def load_parser(source: str) -> Parser:
    """A parser from a ``.pt`` file (with ``pretrain.pt`` and a card beside it), or by package name.

    Raises:
        InputError: there is no such file.
        ModelError: stanza cannot load it, it is not the file of its card or needs others, or the package
            has not been downloaded.
    """
    return _from_file(Path(source)) if source.endswith(".pt") else _from_package(source)


def _from_file(path: Path) -> Parser:
    if not path.is_file():
        raise InputError("no such file", path=path, remedy="name a stanza .pt file")
    pretrain, card = path.with_name(PRETRAIN), path.with_name(CARD)
    beside = read_json(card, _Beside, remedy=_REMEDY) if card.exists() else None
    if beside is not None:
        _require_files_of(path, beside)
    files = {
        "wordvec_pretrain_file": str(pretrain) if pretrain.exists() else None,
        "charlm_forward_file": None,
        "charlm_backward_file": None,
        "device": "cpu",  # small models are slower on a GPU, and differ in the last digits
    }
    try:
        if beside is not None:
            _require_alone(path)
        with quiet(logging.CRITICAL):  # stanza logs a traceback and raises
            model = Trainer.load(str(path), args=files).model
    except ModelError:
        raise
    except Exception as error:  # stanza raises whatever comes, from KeyError to UnpicklingError
        reason = f"{type(error).__name__}: {error}"[:200]
        raise ModelError(f"stanza cannot load this parser: {reason}", path=path) from error

    def run(sentences: Sequence[_Words], tags: Sequence[_Words]) -> list[Any]:
        rows = [list(zip(w, t, strict=True)) for w, t in zip(sentences, tags, strict=True)]
        return list(model.parse_tagged_words(rows, len(rows)))

    return Parser(
        file_name(path),
        run,
        needs_tags=model.args["tag_embedding_dim"] > 0,
        wrapper=beside.get("wrapper") if beside else None,
    )


def _require_files_of(path: Path, card: _Beside) -> None:
    """Check that a parser and its word vectors are what its card says, if it says.

    Raises:
        ModelError: another file lies there.
    """
    for name, facts in card.get("files", {}).items():
        if name not in (path.name, PRETRAIN):
            continue
        place = path.with_name(name)
        if not place.is_file() or sha256_of(place) != facts["sha256"]:
            raise ModelError(
                f"not the file that {CARD} beside it lists (another SHA-256)",
                path=place,
                remedy=f"copy the whole folder again, or {_REMEDY} in its corpus",
            )


def _require_alone(path: Path) -> None:
    """Check that a corpus's parser is all in its folder: stanza would fetch or read what else it names.

    Raises:
        ModelError: it names a transformer or other files.
    """
    config = torch.load(path, map_location="cpu", weights_only=True)["params"]["config"]
    named = {key: config.get(key) for key in _ELSEWHERE}
    if path.with_name(PRETRAIN).exists():
        del named["wordvec_pretrain_file"]  # this one is read instead
    for key, value in named.items():
        if value:
            raise ModelError(
                f"the parser of a corpus lies in its folder whole, but this one names {key} "
                f"{str(value)[:60]!r}",
                path=path,
                remedy="use a parser that conjoin trained (--parser train)",
            )


_ELSEWHERE = ("bert_model", "charlm_forward_file", "charlm_backward_file", "wordvec_pretrain_file")
"""What a stanza parser may name that is read from elsewhere."""


def file_name(path: Path) -> str:
    """What stands beside the trees of a parser in a file."""
    kind = "train" if path.with_name(CARD).exists() else path.stem
    return f"stanza:{kind}:{sha256_of(path)[:8]}"


def _from_package(package: str) -> Parser:
    if not is_plain_name(package):  # it becomes part of a path, and of the command below
        raise InputError(
            f"{package!r} is no corpus, no .pt file and no name of a stanza package",
            remedy="see `conjoin preparse --help`",
        )
    try:
        with quiet():
            pipeline = stanza.Pipeline(
                "en",
                processors="tokenize,pos,constituency",
                package={"constituency": package},
                download_method=None,
                tokenize_pretokenized=True,
                pos_batch_size=32,  # counted in sentences: 1,000 took 23 GB
                verbose=False,
            )
    except (OSError, KeyError, ValueError, stanza.pipeline.core.PipelineRequirementsException) as e:
        raise ModelError(
            f"stanza has no English constituency package {package!r} on this machine",
            remedy="run python -c \"import stanza; stanza.download('en', processors="
            f"'tokenize,pos,constituency', package={{'constituency': '{package}'}})\"",
        ) from e

    def run(sentences: Sequence[_Words], tags: Sequence[_Words]) -> list[Any]:
        del tags  # the pipeline tags for itself
        document = pipeline([list(words) for words in sentences])
        return [sentence.constituency for sentence in document.sentences]

    return Parser(f"stanza:{package}", run, needs_tags=False, wrapper=None)


_REMEDY = "run `conjoin preparse`"

TREEBANK = "treebank"
"""In place of a parser: the corpus's own trees."""

_DEV = 300  # development trees that F1 is measured on, at most


def ensure_parser(settings: Preparse, algorithm: int) -> dict[str, Any]:
    """Make the corpus's parser, unless the one that is there was made from the same inputs.

    Args:
        settings: the stage's.
        algorithm: the stage's number.

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
        card = {"source": _source(settings.parser), "wrapper": None, "training": None}
        write_json(folder / CARD, card)
        return card
    output = Output(folder, folder / CARD, _fingerprint(settings, algorithm))
    if output.state().kind == "current":
        say("the parser is already there and current")
    else:
        output.begin()
        facts = _train(settings)
        output.finish({name: FileFacts.of(folder / name) for name in (MODEL, PRETRAIN)}, facts)
    return dict(read_json(folder / CARD, Card, remedy=_REMEDY))


def _source(given: str) -> str:
    """What stanza is to load; for the folder of another corpus what its own parser is loaded from.

    Raises:
        InputError: there is no such corpus, or it has no parser.
        ModelError: it took the treebank's own trees.
    """
    corpus = Path(given)
    if not corpus.is_dir():
        if "/" in given and not given.endswith(".pt"):
            raise InputError(
                "no such corpus folder",
                path=corpus,
                remedy="name the folder of a corpus with a parser, a .pt file or a stanza package",
            )
        return given
    if not (corpus / "parser" / CARD).is_file():
        raise InputError(
            "this corpus has no parser", path=corpus, remedy=f"{_REMEDY} there, with --parser train"
        )
    return _of_corpus(corpus / "parser", lent=True)


def _of_corpus(folder: Path, *, lent: bool = False) -> str:
    """What stanza is to load; a corpus that lends its parser may name no file but its own.

    Raises:
        InputError: preparse has not run, or the card names what it may not.
        ModelError: it took the treebank's own trees.
    """
    card = read_json(folder / CARD, Card, remedy=_REMEDY)
    source = str(card["source"])
    if source == TREEBANK:
        raise ModelError(
            "this corpus took its trees from the treebank and has no parser",
            path=folder,
            remedy=f"{_REMEDY} with --parser train",
        )
    if "files" in card:
        return str(folder / MODEL)
    own = source.endswith(".pt") and Path(source).resolve().is_relative_to(folder.resolve())
    package = is_plain_name(source) and not source.endswith(".pt")
    if lent and not own and not package:
        raise InputError(
            f"this corpus's parser is {source[:80]!r}, which is neither a file in its folder nor a "
            "stanza package",
            path=folder / CARD,
            remedy="if you trust it, name it yourself with --parser",
        )
    return source


def _fingerprint(settings: Preparse, algorithm: int) -> Fingerprint:
    fields = {"min_words", "seed", "tags", "threads"}
    fields |= {"parser_epochs", "parser_hidden", "parser_trees"}
    return Fingerprint(
        settings=settings.model_dump(mode="json", include=fields),
        inputs={"sentences": sha256_of(settings.corpus / SENTENCES_FILE)},
        algorithm=algorithm,
        versions=versions_of("stanza", "torch"),
    )


def parser_identity(card: Mapping[str, Any]) -> dict[str, str | None]:
    """What tells two parsers apart: the ``name`` that stands beside their trees, and a ``sha256``.

    Raises:
        InputError: the card names a file that is not there.
    """
    source = str(card["source"])
    if "files" in card:
        digest = str(card["files"][MODEL]["sha256"])
        return {"name": f"stanza:train:{digest[:8]}", "sha256": digest}
    if source.endswith(".pt"):
        path = Path(source)
        if not path.is_file():
            raise InputError("no such file", path=path, remedy="name a stanza .pt file")
        beside = (path, path.with_name(PRETRAIN), path.with_name(CARD))
        sums = [sha256_of(each) for each in beside if each.exists()]
        return {"name": file_name(path), "sha256": digest_of(sums)}
    if source == TREEBANK:
        return {"name": source, "sha256": None}
    package = Path(stanza.resources.common.DEFAULT_MODEL_DIR, "en", "constituency", f"{source}.pt")
    return {"name": f"stanza:{source}", "sha256": sha256_of(package) if package.exists() else None}


def corpus_parser(folder: Path) -> Parser:
    """The parser that ``preparse`` used, from CORPUS/parser.

    Raises:
        InputError: preparse has not run.
        ModelError: it took the treebank's own trees, or the parser cannot be loaded.
    """
    return load_parser(_of_corpus(folder))


def tags_for(parser: Parser, sentences: Sequence[Sentence]) -> list[tuple[str, ...]] | None:
    """The tags a parser must be given, or None if it needs none.

    Raises:
        InputError: a sentence has none.
    """
    return [_tags(sentence) for sentence in sentences] if parser.needs_tags else None


def _tags(sentence: Sentence) -> tuple[str, ...]:
    if sentence.tags is None:
        raise InputError(
            "no part-of-speech tags",
            sentence_id=sentence.sentence_id,
            remedy="use a parser that needs none (--tags none)",
        )
    return sentence.tags


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


def _train(settings: Preparse) -> dict[str, Any]:
    train, dev = _examples(settings, settings.corpus / SENTENCES_FILE)
    folder, tagged = settings.corpus / "parser", settings.tags == "treebank"
    best = train_parser(
        folder,
        [_training_tree(s, tagged) for s in train],
        [_training_tree(s, tagged) for s in dev],
        epochs=settings.parser_epochs,
        hidden=settings.parser_hidden,
        tagged=tagged,
        seed=settings.seed,
    )
    roots = {parse_tree(s.tree or "").label() for s in train}
    wrapper = roots.pop() if len(roots) == 1 and roots <= {"S1", "ROOT", "TOP"} else None
    parser = load_parser(str(folder / MODEL))
    guess: list[Tree | None] = []
    for start in range(0, len(dev), settings.batch_size):
        batch = dev[start : start + settings.batch_size]
        guess += parser.parse([s.words for s in batch], tags_for(parser, batch))
    training = {
        "trees": len(train),
        "dev_trees": len(dev),
        "f1": round(bracket_f1([parse_tree(s.tree or "") for s in dev], guess), 4),
        "epochs": settings.parser_epochs,
        "best_epoch": best,
        "hidden": settings.parser_hidden,
        "tags": settings.tags,
        "seed": settings.seed,
    }
    return {"source": MODEL, "wrapper": wrapper, "training": training}


def _training_tree(sentence: Sentence, tagged: bool) -> str:
    tags = _tags(sentence) if tagged else None
    try:
        return training_tree(parse_tree(sentence.tree or ""), sentence.words, tags)
    except ValueError as error:
        raise InputError(
            f"tree and words differ: {error}", sentence_id=sentence.sentence_id
        ) from error

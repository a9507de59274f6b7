"""Running a parser: stanza's, from a file or a package (§3.3).

Stanza has put trees on the wrong sentence before (its issues 882, 970, 997) and gives up a whole
call for one bad sentence, so every tree is checked against its words and a failing batch is parsed
again sentence by sentence.
"""

import gc
import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import stanza
import torch
from nltk.tree import Tree
from stanza.models.constituency.trainer import Trainer

from pipeline.core.cards.parser import ParserCard, ParserTraining
from pipeline.core.documents import read_json
from pipeline.core.errors import InputError, ModelError
from pipeline.core.files import sha256_of
from pipeline.core.names import is_plain_name
from pipeline.core.settings import Precision
from pipeline.core.types import Sentence
from pipeline.models.roles import KEPT_ENCODER
from pipeline.parsing.encoders import (
    ENCODER,
    encoding_in,
    given_to_stanza,
    on_its_device,
    words_encoder,
)
from pipeline.parsing.levels import TOO_DEEP, is_too_deep
from pipeline.parsing.tagging import TAGGER, Tagger
from pipeline.parsing.training import PRETRAIN, ROOT, quiet
from pipeline.text.coordinations import UNTAGGED
from pipeline.text.trees import escape, unescape

CARD = "parser.json"
"""File beside a parser that says which it is and, of one trained here, of what it was made."""

REMEDY = "run `conjoin preparse`"

AT_ONCE = 256
"""Sentences per call of stanza."""

NO_TAGS = "no part-of-speech tags, which the parser reads"
"""Why a sentence gets no tree."""

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
        tagger: what makes tags for words without; None: there is none, or the parser tags for itself.
        precision: number format in which it reads its encoder.
    """

    def __init__(
        self,
        name: str,
        run: _Run,
        *,
        needs_tags: bool,
        wrapper: str | None,
        tagger: Tagger | None = None,
        precision: Precision = "no",
    ) -> None:
        self.name, self.needs_tags, self.tagger = name, needs_tags, tagger
        self._run, self._wrapper, self.precision = run, wrapper, precision

    def parse(
        self,
        sentences: Sequence[_Words],
        tags: Sequence[_Words | None] | None = None,
        *,
        at_once: int = AT_ONCE,
    ) -> list[Tree | None]:
        """One tree per sentence, in order; None where there is none.

        Args:
            sentences: words as in ``Sentence.words``.
            tags: a tag per word, which its trees will have; a parser that needs none writes XX without, and
                one that needs them gives no tree.
            at_once: sentences per call of stanza, which parses those of like length together.

        Raises:
            ModelError: the parser needs tags and no sentence has any.
        """
        return [parsed.tree for parsed in self.outcomes(sentences, tags, at_once=at_once)]

    def outcomes(
        self,
        sentences: Sequence[_Words],
        tags: Sequence[_Words | None] | None = None,
        *,
        at_once: int = AT_ONCE,
        on_batch: Callable[[int, int], None] = lambda sentences, words: None,
    ) -> list[Parsed]:
        """As ``parse``, with the reason for each missing tree.

        ``on_batch`` is called after each call of stanza, with the sentences parsed and their words.
        """
        found: list[Parsed] = []
        for start in range(0, len(sentences), at_once):
            part = slice(start, start + at_once)
            found += self._together(sentences[part], tags[part] if tags is not None else None)
            on_batch(len(sentences[part]), sum(map(len, sentences[part])))
        return found

    def _together(
        self, sentences: Sequence[_Words], tags: Sequence[_Words | None] | None
    ) -> list[Parsed]:
        if self.needs_tags and tags is None:
            raise ModelError(
                f"parser {self.name} was trained with part-of-speech tags",
                remedy="parse a treebank with --tags treebank, or train one with --tags none",
            )
        tagged = list(zip(sentences, tags or [None] * len(sentences), strict=True))
        given = [own or [UNTAGGED] * len(words) for words, own in tagged]
        outcomes = [
            Parsed(None, NO_TAGS if self.needs_tags and own is None else _defect(words))
            for words, own in tagged
        ]
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
            with quiet(), _uncollected(), encoding_in(self.precision):
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
        if is_too_deep(tree):
            return Parsed(None, TOO_DEEP)
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
        made = Tree(node.label, [])
        for child in node.children:  # a comprehension would call twice a level
            made.append(convert(child))
        return made

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
    beside: ParserCard | None = (
        read_json(card, ParserCard, remedy=REMEDY) if card.exists() else None
    )
    if beside is not None:
        _require_files_of(path, beside)
    files = {
        "wordvec_pretrain_file": str(pretrain) if pretrain.exists() else None,
        "charlm_forward_file": None,
        "charlm_backward_file": None,
        "device": "cpu",  # small models are slower on a GPU, and differ in the last digits
    }
    try:
        encoder = None
        own = path.with_name(ENCODER)
        if beside is not None or own.is_dir():
            named = _named_elsewhere(path)
            if named.get("bert_model") == ENCODER and own.is_dir():
                encoder = words_encoder(str(own), KEPT_ENCODER)
                del named["bert_model"]
            if beside is not None:
                _require_alone(path, named)
        # stanza logs a traceback and raises
        with quiet(logging.CRITICAL), given_to_stanza(encoder):
            model = Trainer.load(str(path), args=files).model
        on_its_device(model)
    except ModelError:
        raise
    except Exception as error:  # stanza raises whatever comes, from KeyError to UnpicklingError
        reason = f"{type(error).__name__}: {error}"[:200]
        raise ModelError(f"stanza cannot load this parser: {reason}", path=path) from error

    training = (beside["training"] if beside else None) or ParserTraining()

    def run(sentences: Sequence[_Words], tags: Sequence[_Words]) -> list[Any]:
        rows = [list(zip(w, t, strict=True)) for w, t in zip(sentences, tags, strict=True)]
        return list(model.parse_tagged_words(rows, len(rows)))

    return Parser(
        file_name(path),
        run,
        needs_tags=model.args["tag_embedding_dim"] > 0,
        wrapper=beside["wrapper"] if beside else None,
        tagger=Tagger(own_tagger) if (own_tagger := path.with_name(TAGGER)).is_file() else None,
        precision=training.get("mixed_precision", "no"),
    )


@contextmanager
def _uncollected() -> Iterator[None]:
    """Look for no cycles among the many small things that parsing makes: a tenth of its time."""
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()


def _require_files_of(path: Path, card: ParserCard) -> None:
    """Check that a parser and its word vectors are what its card says, if it says.

    Raises:
        ModelError: another file lies there.
    """
    for name, facts in card.get("files", {}).items():
        if name not in (path.name, PRETRAIN, TAGGER) and Path(name).parent != Path(ENCODER):
            continue
        place = path.parent / name
        if not place.is_file() or sha256_of(place) != facts["sha256"]:
            raise ModelError(
                f"not the file that {CARD} beside it lists (another SHA-256)",
                path=place,
                remedy=f"copy the whole folder again, or {REMEDY} in its corpus",
            )


def _named_elsewhere(path: Path) -> dict[str, str]:
    """What a parser names that stanza would fetch or read, by its settings' names."""
    config = torch.load(path, map_location="cpu", weights_only=True)["params"]["config"]
    named = {key: str(config[key]) for key in _ELSEWHERE if config.get(key)}
    if path.with_name(PRETRAIN).exists():
        named.pop("wordvec_pretrain_file", None)  # this one is read instead
    return named


def _require_alone(path: Path, named: Mapping[str, str]) -> None:
    """Check that a corpus's parser is all in its folder.

    Raises:
        ModelError: it names a transformer or other files.
    """
    if named:
        key, value = next(iter(named.items()))
        raise ModelError(
            f"the parser of a corpus lies in its folder whole, but this one names {key} "
            f"{value[:60]!r}",
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


def tags_for(parser: Parser, sentences: Sequence[Sentence]) -> list[tuple[str, ...]] | None:
    """The tags a parser must be given, or None if it needs none.

    Raises:
        InputError: a sentence has none.
    """
    return [given_tags(sentence) for sentence in sentences] if parser.needs_tags else None


def own_tags(parser: Parser, sentences: Sequence[Sentence]) -> list[tuple[str, ...] | None] | None:
    """As ``tags_for``; of a sentence that has none, None: it gets no tree, for the reason ``NO_TAGS``."""
    return [sentence.tags for sentence in sentences] if parser.needs_tags else None


def tags_to_write(
    parser: Parser, sentences: Sequence[Sentence]
) -> Sequence[tuple[str, ...] | None] | None:
    """The tags that the trees of sentences are to have, so that none says XX.

    Those that the parser must be given; of one that reads none, what its tagger finds, for it is not to
    see the treebank's.
    """
    if parser.needs_tags or parser.tagger is None:
        return own_tags(parser, sentences)
    return [parser.tagger.tag(sentence.words) for sentence in sentences]


def given_tags(sentence: Sentence) -> tuple[str, ...]:
    """The treebank's tags of a sentence.

    Raises:
        InputError: it has none.
    """
    if sentence.tags is None:
        raise InputError(
            "no part-of-speech tags",
            sentence_id=sentence.sentence_id,
            remedy="use a parser that needs none (--tags none)",
        )
    return sentence.tags

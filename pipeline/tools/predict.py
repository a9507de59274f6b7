"""``conjoin predict``: the coordinations of new sentences, with brackets and probabilities."""

import sys
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from pipeline.ground.coordination import COORDINATORS, bracketed
from pipeline.ground.errors import InputError
from pipeline.mechanisms.metrics import as_conjuncts
from pipeline.mechanisms.naturaltext import split_words
from pipeline.mechanisms.predictor import Predictor, best_device
from pipeline.settings.predict import Predict

__all__ = ["run"]

_BLOCK = 1024  # lines read and predicted together: enough to sort by length, little memory


def run(settings: Predict) -> None:
    """Print each coordinator's structure: the bracketed sentence, the coordinator, the probability.

    The three are separated by tabs, so this is a plain print: the console would expand them.
    Every and, or, but, nor, and/or with a word on either side gets a prediction; a sentence without
    one, or longer than the encoder, is printed as it is with a remark.

    Raises:
        InputError: the file is missing, empty or not UTF-8.
        ModelError: the predictor cannot be loaded.
    """
    predictor = Predictor.load(settings.predictor).to(best_device())
    sentences = (split_words(line) for line in _lines(settings.text) if line.strip())
    empty = True
    while block := list(islice(sentences, _BLOCK)):
        empty = False
        _tell(predictor, block, settings.batch_size)
    if empty:
        raise InputError("no sentence here", path=settings.text, remedy="give one per line")


def _tell(predictor: Predictor, sentences: list[list[str]], batch_size: int) -> None:
    asked = [
        (words, k)
        for words in sentences
        for k in range(1, len(words) - 1)
        if words[k].lower() in COORDINATORS
    ]
    found = predictor.predict([words for words, _ in asked], [k for _, k in asked], batch_size)
    answers = iter(zip(asked, found, strict=True))
    for words in sentences:
        count = sum(word.lower() in COORDINATORS for word in words[1:-1])
        if not count:
            print(f"{' '.join(words)}\t-\tno coordinator between words")
        for (_, k), prediction in islice(answers, count):
            if prediction is None:
                print(f"{' '.join(words)}\t{words[k]}\tsentence longer than the encoder")
            else:
                conjuncts = as_conjuncts(words, k, prediction.span)
                print(f"{bracketed(words, conjuncts)}\t{words[k]}\t{prediction.probability:.3f}")


def _lines(path: Path) -> Iterator[str]:
    try:
        if str(path) == "-":
            yield from sys.stdin
        else:
            with path.open(encoding="utf-8") as handle:
                yield from handle
    except FileNotFoundError as error:
        raise InputError("no such file", path=path, remedy="check the name") from error
    except UnicodeDecodeError as error:
        raise InputError("not UTF-8 text", path=path, remedy="convert the file") from error

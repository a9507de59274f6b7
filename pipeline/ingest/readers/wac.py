"""The Wikipedia Annotated Corpus (ku-nlp) and others in the KNP format: predicates with their arguments.

Words are morphemes, tags their classes. An argument is typed as in Konno et al. (2020): in the predicate's
own bunsetsu it is none, where one of their bunsetsu depends on the other DEP, elsewhere in the sentence ZAR.
"""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from pipeline.core.errors import InputError
from pipeline.core.predicates import DEP, ROLES, ZAR, Argument, Predicate
from pipeline.core.tally import Tally
from pipeline.core.types import SPLITS, Sentence, Span
from pipeline.ingest.archives import documents_within
from pipeline.ingest.document_licences import Licences
from pipeline.ingest.documents import Document, name_documents
from pipeline.ingest.splitting import DEFAULT_FRACTIONS, Splitter, by_fractions, by_texts
from pipeline.text.knp import BasePhrase, Unit, are_a_tree, read_units
from pipeline.text.unpacking import UnpackingAllowance, decoded

VERBAL = frozenset({"動詞", "形容詞", "判定詞"})
"""Classes of which one is in a verbal predicate: verb, adjective, copula."""

_ROLE_OF = dict(zip(("ガ", "ヲ", "ニ"), ROLES, strict=True))
_SAME = "="
_FUNCTIONAL = frozenset({"助詞", "特殊", "助動詞", "判定詞", "接尾辞"})
_BLANK = frozenset("\u3000\u00a0\u2002")

_LARGEST = 16 * 2**20  # bytes of a document; the longest of the corpus has 40 KiB
_KNP = ".knp"

BLANK = "morpheme that is a blank (counts morphemes)"
NO_TREE = "sentence whose heads are no tree, kept: only what depends on what directly is read"
NO_WORD = "sentence of blanks alone"
ELSEWHERE = "argument in another sentence (counts tags)"
NOWHERE = "argument that the text does not name (counts tags)"
UNKNOWN_SENTENCE = "argument in a sentence that the document lacks (counts tags)"


_OWN = re.compile(r"wiki\d+")
"""Names of its own documents."""


def own_licences(otherwise: str) -> Licences:
    """The corpus's own of its documents, else the one given."""
    return lambda documents: {
        each.name: "CC-BY-SA-4.0" if _OWN.fullmatch(each.name) else otherwise for each in documents
    }


@dataclass(frozen=True, slots=True)
class AnnotatedSentence:
    """A sentence, and its predicates that have an argument's tag."""

    sentence: Sentence
    predicates: tuple[Predicate, ...]

    @property
    def sentence_id(self) -> str:
        """The sentence's."""
        return self.sentence.sentence_id


def read_wac(
    source: Path,
    tally: Tally,
    *,
    splitter: Splitter | None,
    licences: Licences,
    allowance: UnpackingAllowance,
    strict: bool = False,
) -> Iterator[AnnotatedSentence]:
    """Yield the sentences of all documents in a split, in the order of their files.

    Ids are ``wac/<document>/<S-ID without the document>``. Words do not hold blanks, which are left out and
    counted; the numbers of the others follow.

    Args:
        source: a folder with ``.knp`` files at any depth, or an archive of such; of a folder that has none
            its one archive is read.
        tally: counts what is kept, and what is not.
        splitter: which document is in which split; None: as the lists ``id/train.id``, ``id/dev.id`` and
            ``id/test.id`` beside the files say, or by shares where there are none.
        licences: of the documents.
        allowance: what an archive may unpack to.
        strict: whether heads that are no tree are an error, and not counted.

    Raises:
        InputError: nothing to read, a file is not in the KNP format, two sentences would have one id, or
            ``strict`` finds heads that are no tree; file and line are named.
    """
    files = documents_within(source, _is_wanted, f"files *{_KNP}", _LARGEST, allowance)
    paths = sorted(path for path in files if path.endswith(_KNP))
    if not paths:
        raise InputError(
            f"no file *{_KNP}", path=source, remedy="name the folder or archive that has them"
        )
    read = [
        list(read_units(decoded(data, place), place))
        for place, data in (files[path] for path in paths)
    ]
    names = name_documents(paths, source)
    documents = [
        Document(name, path, len(units))
        for name, path, units in zip(names, paths, read, strict=True)
    ]
    assigned = (splitter or _shipped(files))(documents, tally)
    owed = licences(documents)
    seen: set[str] = set()
    for document, units in zip(documents, read, strict=True):
        names_there = {unit.name for unit in units}
        for index, unit in enumerate(units):
            split = assigned.split(document, index)
            if split is None:
                tally.refuse("sentence of a document in no split", len(units), place=document.path)
                break
            found = _annotated(unit, document.name, tally)
            if found is None:
                tally.refuse(NO_WORD, place=f"{document.path}:{unit.line}")
                continue
            if found.sentence_id in seen:
                raise InputError(
                    f"S-ID {unit.name[:60]} and one before it are both {found.sentence_id[:80]}",
                    path=document.path,
                    line=unit.line,
                    remedy="mend the file, or leave it out",
                )
            seen.add(found.sentence_id)
            if not are_a_tree(unit.heads):
                if strict:
                    raise InputError(
                        "heads of bunsetsu that are no tree", path=document.path, line=unit.line,
                        remedy="mend the file, or leave --strict out",
                    )  # fmt: skip
                tally.refuse(NO_TREE, place=f"{document.path}:{unit.line}")
            _count_outside(unit, names_there, tally)
            tally.keep()
            sentence = replace(found.sentence, split=split, license=owed[document.name])
            yield replace(found, sentence=sentence)


def _count_outside(unit: Unit, there: Collection[str], tally: Tally) -> None:
    """Count the tags of arguments that are in no role, as what they name is not in the sentence."""
    for phrase in unit.phrases:
        for tag in phrase.relations:
            if tag.name not in _ROLE_OF or tag.sentence == unit.name:
                continue
            if tag.sentence is None:
                tally.refuse(NOWHERE)
            else:
                tally.refuse(ELSEWHERE if tag.sentence in there else UNKNOWN_SENTENCE)


def _annotated(unit: Unit, document: str, tally: Tally) -> AnnotatedSentence | None:
    """A unit's words and predicates; None where it has no word."""
    places: dict[int, int] = {}  # of morphemes that are words, their number among these
    for number, morpheme in enumerate(unit.morphemes):
        if not _BLANK.issuperset(morpheme.surface):
            places[number] = len(places)
    tally.refuse(BLANK, len(unit.morphemes) - len(places))
    if not places:
        return None
    name = unit.name.removeprefix(document).lstrip("-") or "0"
    sentence_id = f"wac/{document}/{name}"
    kept = [unit.morphemes[number] for number in places]
    words = tuple(morpheme.surface for morpheme in kept)
    tags = tuple(morpheme.word_class for morpheme in kept)
    heads = [_head(unit, phrase, places) for phrase in unit.phrases]
    same = _mentions(unit)
    bunsetsu = _bunsetsu(unit, places)
    predicates = []
    for number, phrase in enumerate(unit.phrases):
        own = heads[number]
        if own is None or not any(each.name in _ROLE_OF for each in phrase.relations):
            continue
        classes = {unit.morphemes[n].word_class for n in range(phrase.start, phrase.end)}
        at = phrase.bunsetsu
        near = [n for n, head in enumerate(unit.heads) if at in (n, head) or unit.heads[at] == n]
        tied = tuple(bunsetsu[n] for n in near if n != at and n in bunsetsu)
        found = _arguments(unit, phrase, heads, same)
        verbal = bool(classes & VERBAL)
        predicates.append(Predicate(sentence_id, own, bunsetsu[at], verbal, found, tied))
    sentence = Sentence(sentence_id, document, "", words, tags, None, (), "")
    return AnnotatedSentence(sentence, tuple(predicates))


def _bunsetsu(unit: Unit, places: Mapping[int, int]) -> dict[int, Span]:
    """The words of each bunsetsu that has any, by its number."""
    words: dict[int, list[int]] = {}
    for phrase in unit.phrases:
        own = [places[n] for n in range(phrase.start, phrase.end) if n in places]
        words.setdefault(phrase.bunsetsu, []).extend(own)
    return {number: Span(min(own), max(own) + 1) for number, own in words.items() if own}


def _head(unit: Unit, phrase: BasePhrase, places: Mapping[int, int]) -> int | None:
    """The word with content: the last that is no particle, sign, auxiliary or suffix, else the first."""
    own = [number for number in range(phrase.start, phrase.end) if number in places]
    content = [n for n in own if unit.morphemes[n].word_class not in _FUNCTIONAL]
    return places[(content[-1:] or own[:1])[0]] if own else None


def _arguments(
    unit: Unit, phrase: BasePhrase, heads: Sequence[int | None], same: Mapping[int, frozenset[int]]
) -> tuple[Argument, ...]:
    """What fills its roles in the sentence.

    A role that something in its own bunsetsu fills is left out, unless a dependency ties another to it.
    """

    def words_of(phrases: Iterable[int]) -> list[int]:
        outside = (n for n in phrases if unit.phrases[n].bunsetsu != phrase.bunsetsu)
        return list(dict.fromkeys(head for n in outside if (head := heads[n]) is not None))

    found = []
    for case, role in _ROLE_OF.items():
        tags = (each for each in phrase.relations if each.sentence == unit.name)
        fillers = [each.phrase for each in tags if each.name == case]
        tied = any(_are_tied(unit, phrase, unit.phrases[n]) for n in fillers)
        own = any(unit.phrases[n].bunsetsu == phrase.bunsetsu for n in fillers)
        words = words_of(fillers)
        if words and (tied or not own):
            others = words_of(sorted({m for n in fillers for m in same.get(n, frozenset())}))
            mentions = tuple(word for word in others if word not in words)
            found.append(Argument(role, DEP if tied else ZAR, tuple(words), mentions))
    return tuple(found)


def _are_tied(unit: Unit, one: BasePhrase, other: BasePhrase) -> bool:
    """Whether one of the bunsetsu of two base phrases depends on the other."""
    return unit.heads[one.bunsetsu] == other.bunsetsu or unit.heads[other.bunsetsu] == one.bunsetsu


def _mentions(unit: Unit) -> dict[int, frozenset[int]]:
    """For base phrases that mean the same as others of the sentence: all of these."""
    groups: dict[int, set[int]] = {}
    for number, phrase in enumerate(unit.phrases):
        for each in phrase.relations:
            if each.name == _SAME and each.sentence == unit.name:
                whole = groups.get(number, {number}) | groups.get(each.phrase, {each.phrase})
                groups |= dict.fromkeys(whole, whole)
    return {number: frozenset(whole - {number}) for number, whole in groups.items()}


def _is_wanted(path: str) -> bool:
    hidden = any(part.startswith(".") for part in path.split("/"))
    return not hidden and (path.endswith(_KNP) or _split_of_list(path) is not None)


def _split_of_list(path: str) -> str | None:
    """The split whose documents a file lists."""
    folder, _, name = path.rpartition("/")
    split = name.removesuffix(".id")
    of_split = folder.rpartition("/")[2] == "id" and name == f"{split}.id" and split in SPLITS
    return split if of_split else None


def _shipped(files: Mapping[str, tuple[str, bytes]]) -> Splitter:
    lists = [
        (split, Path(place), decoded(data, place))
        for path, (place, data) in sorted(files.items())
        if (split := _split_of_list(path))
    ]
    return by_texts(lists, "its own lists") if lists else by_fractions(DEFAULT_FRACTIONS)

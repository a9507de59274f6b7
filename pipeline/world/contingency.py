"""Cause and effect in the miniature world: what an action brings about, text about it, and questions.

A causal graph has an effect for each action on each class of things: what is dropped cracks or bounces, by
what it is, so whoever knows the action alone, or the thing alone, does not know what follows.
Sentences state two events with a connective, and a third of them err: they name the effect of another action.
They mostly speak of rare things, and often have a pronoun for them, so frequent pairs are truer than the
rest. ``brings_about`` is the oracle.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from random import Random

from nltk.stem.snowball import SnowballStemmer

from pipeline.core.questions import Question, pair_of_events
from pipeline.core.types import Sentence
from pipeline.world.lexicon import Lexicon, load_lexicon


@dataclass(frozen=True, slots=True)
class _Verb:
    """A regular verb, whose forms have one stem."""

    base: str
    past: str

    @property
    def singular(self) -> str:
        return self.base + ("es" if self.base.endswith(("sh", "ch")) else "s")

    @property
    def forms(self) -> tuple[str, str, str]:
        return self.base, self.past, self.singular

    def tagged(self, *, past: bool, plural: bool) -> str:
        """The leaf of a tree."""
        if past:
            return f"(VBD {self.past})"
        return f"(VBP {self.base})" if plural else f"(VBZ {self.singular})"


def _verbs(text: str) -> tuple[_Verb, ...]:
    found = []
    for word in text.split():
        base, _, past = word.partition("/")
        found.append(_Verb(base, past or base + ("d" if base.endswith("e") else "ed")))
    return tuple(found)


_EFFECTS_OF = {
    _verbs(action)[0]: _verbs(effects)
    for action, effects in {
        "drop/dropped": "crack shatter bounce roll",
        "wash": "fade drip/dripped soften sparkle",
        "paint": "brighten darken stiffen glow",
        "push": "topple slip/slipped tilt collapse",
        "wrap/wrapped": "bulge sag/sagged curl vanish",
        "heat": "melt burn steam sizzle",
        "soak": "rot/rotted leak float rust",
        "kick": "wobble rattle tremble squeak",
        "hammer": "crumble explode hum/hummed whistle",
        "cover": "cool ripen droop warp",
    }.items()
}
"""What each action may bring about; the class of the thing says which of these it does."""

_THINGS = {
    kind: tuple(text.split())
    for kind, text in {
        "tool": "lamp chisel ropes shovel ladders telescope axe knives",
        "document": "letter map notebooks report contract manuscripts postcard recipe",
        "vehicle": "cart boat wagons canoe bicycle tractors carriage ferry",
        "furniture": "table chair desks mirror cradle wardrobes bench bookshelf",
        "clothing": "coat hat gloves boots apron jacket raincoat scarf",
        "instrument": "violin drum pianos flute trumpet cellos harp accordion",
        "container": "jar bottle buckets barrel trunks suitcase basket box",
        "food": "soup cake pies cheese sausages omelette pancake dumpling",
        "plant": "rose oak tulips vine cabbage sunflowers rhododendron cherry",
        "animal": "dog goat horses owl donkey cats swan fox",
    }.items()
}
"""Nouns by class, as the lexicon has them, in the number that each has here. They stand here so that the
oracle needs no file."""

_FREQUENT = 3  # of each class; the others are rare
_KIND_OF = {noun: kind for kind, nouns in _THINGS.items() for noun in nouns}
_ACTION_OF = {form: action for action in _EFFECTS_OF for form in action.forms}
_EFFECT_OF = {form: verb for own in _EFFECTS_OF.values() for verb in own for form in verb.forms}


def _graph() -> dict[tuple[_Verb, str], _Verb]:
    """What each action brings about with each class."""
    found: dict[tuple[_Verb, str], _Verb] = {}
    for action, effects in _EFFECTS_OF.items():
        kinds = Random(f"world-questions/graph/{action.base}").sample(list(_THINGS), len(_THINGS))
        found |= {(action, kind): effects[n % len(effects)] for n, kind in enumerate(kinds)}
    return found


_GRAPH = _graph()

_CONNECTIVES = {"because": 0.3, "so": 0.25, "since": 0.15, "if": 0.15, "when": 0.15}
_ASKED = {"because": 0.6, "if": 0.2, "when": 0.2}
_FALSE = 1 / 3  # share of sentences that err
_RARE = {True: 0.1, False: 0.95}  # share of rare things, of true and of false sentences
_PRONOUN = {True: 0.1, False: 0.5}  # share of "it" or "they" where the thing was named before
_DEMONSTRATIVE, _THIRD_CLAUSE = 0.05, 0.08
_TOGETHER = 20  # sentences of a document

_LEAF = re.compile(r"\((\S+) ([^\s()]+)\)")
_STEMMER = SnowballStemmer("english")


def brings_about(former_words: Sequence[str], latter_words: Sequence[str]) -> bool:
    """Whether an event of the world brings another one about; of all else nothing is.

    Args:
        former_words: of the clause that names the action, maybe with its connective before it.
        latter_words: of the clause with the effect; a pronoun there stands for the former's thing.
    """
    former, latter = ([word.lower() for word in words] for words in (former_words, latter_words))
    if former and former[0] in _CONNECTIVES:
        former = former[1:]
    *_, action, _, thing = ["", "", "", *former]
    *who, effect = ["", *latter]
    kind = _KIND_OF.get(thing)
    if kind is None or action not in _ACTION_OF or effect not in _EFFECT_OF:
        return False
    same = who[1:] == [_pronoun(thing)] or (len(who) == 3 and who[-1] == thing)
    return same and _GRAPH[_ACTION_OF[action], kind] == _EFFECT_OF[effect]


def _is_plural(noun: str) -> bool:
    return noun.endswith("s")


def _pronoun(noun: str) -> str:
    return "they" if _is_plural(noun) else "it"


class _ClauseComposer:
    """Writes clauses as trees.

    Args:
        lexicon: has the persons.
        rng: where every choice comes from.
        past: the tense.
    """

    def __init__(self, lexicon: Lexicon, rng: Random, *, past: bool) -> None:
        self._lexicon, self._rng, self._past = lexicon, rng, past

    def happens(self, share: float) -> bool:
        return self._rng.random() < share

    def thing(self, *, rare: float) -> str:
        """A noun of any class."""
        nouns = _THINGS[self._rng.choice(list(_THINGS))]
        return self._rng.choice(nouns[_FREQUENT:] if self.happens(rare) else nouns[:_FREQUENT])

    def former(self, action: _Verb, thing: str) -> str:
        """Somebody does something to the thing."""
        kind = self._rng.choice(sorted(self._lexicon.persons))
        adjective = ""
        if self.happens(0.3):
            adjective = f"(JJ {self._rng.choice(self._lexicon.adjectives[kind]).lemma}) "
        person = self._rng.choice(self._lexicon.nouns[kind]).lemma
        verb = action.tagged(past=self._past, plural=False)
        return f"(S (NP (DT the) {adjective}(NN {person})) (VP {verb} {_named(thing)}))"

    def latter(self, effect: _Verb, thing: str, named: str = "") -> str:
        """Something happens to the thing, which may be ``named`` by another noun phrase."""
        verb = effect.tagged(past=self._past, plural=_is_plural(thing))
        return f"(S {named or _named(thing)} (VP {verb}))"


def _named(thing: str, determiner: str = "the") -> str:
    return f"(NP (DT {determiner}) ({'NNS' if _is_plural(thing) else 'NN'} {thing}))"


def generate_text(source: Path, count: int, seed: int, first: int = 0) -> Iterator[Sentence]:
    """Yield sentences ``first`` up to ``first + count``, with tags and gold trees, all of the training split.

    Sentence ``i`` depends on the lexicon, ``seed`` and ``i`` alone. Most have two clauses; some have a
    demonstrative, and some a third clause.

    Args:
        source: folder that holds ``lexicon.yaml`` (data/raw/world).
        count: how many sentences.
        seed: of the choices.
        first: index of the first sentence.

    Raises:
        InputError: the lexicon is missing or malformed.
    """
    lexicon = load_lexicon(source / "lexicon.yaml")
    for index in range(first, first + count):
        leaves = (tree := _statement(lexicon, Random(f"world-questions/text/{seed}/{index}")))
        tags, words = zip(*_LEAF.findall(leaves), strict=True)
        yield Sentence(
            f"world-questions/{index:06d}", f"text-{index // _TOGETHER:04d}", "train", words, tags, tree, (),
            lexicon.license,
        )  # fmt: skip


def _statement(lexicon: Lexicon, rng: Random) -> str:
    """The tree of a sentence that says what brought something about."""
    connective = rng.choices(list(_CONNECTIVES), list(_CONNECTIVES.values()))[0]
    write = _ClauseComposer(lexicon, rng, past=connective != "if" and rng.random() < 0.5)
    true = not write.happens(_FALSE)
    thing = write.thing(rare=_RARE[true])
    action, other = rng.sample(list(_EFFECTS_OF), 2)
    effect = _GRAPH[action if true else other, _KIND_OF[thing]]
    former, named = write.former(action, thing), ""
    ahead = connective == "so" or write.happens(0.5)  # the former clause is said first
    if ahead and write.happens(_PRONOUN[true]):
        named = f"(NP (PRP {_pronoun(thing)}))"
    elif write.happens(_DEMONSTRATIVE):
        named = _named(thing, "these" if _is_plural(thing) else "this")
    latter = write.latter(effect, thing, named)
    if write.happens(_THIRD_CLAUSE):
        third = write.former(rng.choice(list(_EFFECTS_OF)), write.thing(rare=_RARE[true]))
        former = f"{former[:-2]} (SBAR (IN while) {third})))"
    word = "(WHADVP (WRB when))" if connective == "when" else f"(IN {connective})"
    if connective == "so":
        tree = f"(S1 (S {former} (, ,) {word} {latter} (. .)))"
    elif ahead:
        tree = f"(S1 (S (SBAR {word} {former}) (, ,) {latter[3:-1]} (. .)))"
    else:
        tree = f"(S1 (S {latter[3:-2]} (SBAR {word} {former})) (. .)))"
    return _LEAF.sub(lambda leaf: f"({leaf[1]} {leaf[2].capitalize()})", tree, count=1)


def generate_questions(source: Path, count: int, seed: int) -> Iterator[Question]:
    """Yield questions of four choices, one of which the context brings about.

    Two thirds of the questions are of two things: the effects of the action and of another one on each. The
    others are of one thing: two effects of the action and two of another one, with things of whatever class.
    So neither a thing nor an action that choices share gives the answer away, and by the context's action
    alone two are left. Things are as frequent as in true sentences. Splits go by action and thing, which make
    the event pair, so no pair is in two. Question ``i`` depends on the lexicon, ``seed`` and ``i`` alone, and
    no sentence on what was asked.

    Args:
        source: folder that holds ``lexicon.yaml`` (data/raw/world).
        count: how many questions.
        seed: of the choices.

    Raises:
        InputError: the lexicon is missing or malformed.
    """
    lexicon = load_lexicon(source / "lexicon.yaml")
    for index in range(count):
        yield _question(lexicon, Random(f"world-questions/asked/{seed}/{index}"), index)


def _question(lexicon: Lexicon, rng: Random, index: int) -> Question:
    connective = rng.choices(list(_ASKED), list(_ASKED.values()))[0]
    write = _ClauseComposer(lexicon, rng, past=connective != "if" and rng.random() < 0.5)
    thing = write.thing(rare=_RARE[True])
    kind = _KIND_OF[thing]
    action, other = rng.sample(list(_EFFECTS_OF), 2)
    right, of_another = _GRAPH[action, kind], _GRAPH[other, kind]
    told = [(right, thing), (of_another, thing)]
    if write.happens(2 / 3):
        elsewhere = rng.choice([noun for noun in _KIND_OF if noun != thing])
        told += [(_GRAPH[each, _KIND_OF[elsewhere]], elsewhere) for each in (action, other)]
    else:
        told += [
            (
                rng.choice(
                    [effect for effect in _EFFECTS_OF[own] if effect not in (right, of_another)]
                ),
                thing,
            )
            for own in (action, other)
        ]
    choices = [_text(write.latter(*each)) for each in told]
    answer = rng.choice(range(len(choices)))
    choices[0], choices[answer] = choices[answer], choices[0]
    former, latter = (_STEMMER.stem(verb.base) for verb in (action, right))
    pair = f"{action.base}-{thing}"
    place = sha256(f"world-questions/{pair}".encode()).digest()[0] % 10
    return Question(
        question_id=f"world-questions/q{index:06d}", doc_id=pair,
        split={8: "dev", 9: "test"}.get(place, "train"), asks="effect",
        context=f"{connective} {_text(write.former(action, thing))}", choices=tuple(choices), answer=answer,
        events=pair_of_events(f"{former}(object {thing})", f"{latter}(subject {thing})"),
        agreement=None, license=lexicon.license,
    )  # fmt: skip


def _text(tree: str) -> str:
    return " ".join(word for _, word in _LEAF.findall(tree))

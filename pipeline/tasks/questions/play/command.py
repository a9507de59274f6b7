"""``conjoin play``: the game in a local web page; a board's verdicts; or card sets in a file."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from pipeline.core.cards.play import DealFile
from pipeline.core.claims import Claim, Listed, appearing
from pipeline.core.console import say, table, warn
from pipeline.core.documents import read_document_text, read_json
from pipeline.core.errors import InputError
from pipeline.core.files import write_json
from pipeline.core.local_page import address, listening, opened, serve
from pipeline.core.tally import Tally
from pipeline.corpus.handing_on import for_own_use, require_permission
from pipeline.tasks.questions.events import event_from, event_text
from pipeline.tasks.questions.frames import counted_frames
from pipeline.tasks.questions.pairs import CorePair, EventPair, read_core_pairs, read_event_pairs
from pipeline.tasks.questions.play.cards import ENGLISH, board_from
from pipeline.tasks.questions.play.deal import (
    Dealt,
    PlayedPair,
    card_words,
    deal,
    fifths,
    playable,
    read_difficulties,
)
from pipeline.tasks.questions.play.feedback import verdicts
from pipeline.tasks.questions.play.score import LanguageResources
from pipeline.tasks.questions.play.server import make_app
from pipeline.tasks.questions.play.settings import PlaySettings
from pipeline.tasks.questions.votes import read_votes

UNREAD = "pairs with a core event that cannot be read"
NOT_VOTED = "pairs without two votes"
_VOTES = 2


def run(settings: PlaySettings) -> None:
    """Serve the page until Ctrl-C, print a board's verdicts, or write card sets.

    Raises:
        InputError: of the pairs, the votes, the difficulties or the board; no card set can be dealt; a
            licence keeps the words here; the place of what is written is taken; or the port is in use.
    """
    if settings.deal and settings.out:
        _write(settings, settings.deal, settings.out)
        return
    if settings.score:
        board = board_from(read_document_text(settings.score), path=settings.score)
        resources = read_game(settings).resources
        said = [
            (each.grade, f"{each.score:.4f}" if each.score else "", each.sentence, each.feedback)
            for each in verdicts(board, ENGLISH, resources)
        ]
        if not said:
            raise InputError("no two cards are connected by a mark", path=settings.score)
        table(f"sentences of {settings.score}", ("grade", "score", "sentence", "feedback"), said)
        return
    with listening(settings.port) as (listener, token):
        game = read_game(settings)
        sets = [each.cards for each in game.dealt(settings)]
        url = address(listener, token)
        say(f"{len(sets):,} card sets: {url} (Ctrl-C ends it)")
        with opened(url, settings.open):
            serve(make_app(sets, ENGLISH, game.resources, token), listener)


@dataclass(frozen=True, slots=True)
class Game:
    """What a folder of event pairs gives.

    Attributes:
        every: its event pairs.
        pairs: those of core events that are played.
        resources: by which sentences are scored.
        tally: which pairs are not played.
    """

    every: Sequence[EventPair]
    pairs: Sequence[PlayedPair]
    resources: LanguageResources
    tally: Tally

    def dealt(self, settings: PlaySettings) -> list[Dealt]:
        """The card sets of a level; prints what gave none, and why.

        Raises:
            InputError: there is none; or of the difficulties.
        """
        events = [event for pair in self.every for event in (pair.former_event, pair.latter_event)]
        difficulty = (
            read_difficulties(settings.difficulty) if settings.difficulty else fifths(events)
        )
        kept = playable(self.pairs, difficulty, settings.level, ENGLISH, self.tally)
        frequency = Counter(event.predicate for event in events)
        found = deal(kept, frequency, settings.seed, self.tally)
        read = len(self.pairs) + self.tally.refused[UNREAD] + self.tally.refused[NOT_VOTED]
        steps = [("pairs of core events", read), ("that can be played", len(kept))]
        table("card sets", ("step", "count"), [*steps, ("card sets", len(found))])
        table("left out", ("reason", "count"), self.tally.rows()[1:])
        if not found:
            raise InputError(
                f"no card set: {len(kept):,} of {read:,} pairs can be played, and no five of them about one "
                "event have six nouns and five predicates",
                path=settings.pairs, remedy="try another --level, or none, or pair more text",
            )  # fmt: skip
        return found


def read_game(settings: PlaySettings) -> Game:
    """What the settings name.

    Raises:
        InputError: of the pairs or the votes.
    """
    every, cores = read_event_pairs(settings.pairs), read_core_pairs(settings.pairs)
    votes = None
    if settings.votes:
        votes = read_votes(settings.votes, {pair.pair_id: pair for pair in every})
    words, tally = card_words(every), Tally()
    pairs = []
    for core in cores:
        if votes is not None and votes.get(core.pair_id, 0) < _VOTES:
            tally.refuse(NOT_VOTED)
        elif (pair := _played(core, words)) is None:
            tally.refuse(UNREAD)
        else:
            pairs.append(pair)
    frames = counted_frames(
        event for pair in every for event in (pair.former_event, pair.latter_event)
    )
    resources = LanguageResources(
        {predicate: (frame,) for predicate, frame in frames.items()},
        [(pair.former, pair.latter) for pair in pairs],
    )
    return Game(every, pairs, resources, tally)


def _played(core: CorePair, words: dict[str, str]) -> PlayedPair | None:
    former, latter = event_from(core.former_core), event_from(core.latter_core)
    if former is None or latter is None:
        return None
    cards = [words.get(event.predicate, event.predicate) for event in (former, latter)]
    return PlayedPair(former, latter, *cards)


def _write(settings: PlaySettings, count: int, out: Path) -> None:
    named = [settings.pairs, *filter(None, (settings.votes, settings.difficulty))]
    claim = Claim(out, "play", named, _earlier, file=True)
    claim.check()
    game = read_game(settings)
    found = game.dealt(settings)[:count]
    if not settings.own_use:
        licences = Counter(pair.license for pair in game.every)
        require_permission(licences, settings.pairs, remedy=for_own_use)
    document: DealFile = {
        "level": settings.level or "any",
        "seed": settings.seed,
        "sets": [
            {
                "nouns": list(each.cards.nouns),
                "predicates": list(each.cards.predicates),
                "pairs": [
                    [event_text(pair.former), event_text(pair.latter)] for pair in each.pairs
                ],
            }
            for each in found
        ],
    }
    with appearing(claim) as file:
        write_json(file, document)
    if len(found) < count:
        warn(f"{len(found):,} of the {count:,} card sets that were wanted: there are no more")
    say(f"written: {out}: {len(found):,} card sets")


def _earlier(place: Path) -> Listed:
    """Earlier card sets, known by their form."""
    try:
        read_json(place, DealFile)
    except InputError:
        return None
    return ()

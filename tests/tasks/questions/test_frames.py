"""Case frames: which arguments a predicate usually has, and so which events are core events."""

from pipeline.tasks.questions.events import Event, EventArgument
from pipeline.tasks.questions.frames import case_frames, covering


def event(predicate: str, passive: bool = False, negated: bool = False, **roles: str) -> Event:
    found = tuple(EventArgument(role.rstrip("_"), head) for role, head in roles.items())
    return Event(predicate, negated, passive, found)


def rest_of(total: int, known: dict[str, int]) -> dict[str, int]:
    """The fillers that a table does not print: many, and each is rare."""
    return known | {f"other {n:05d}": 1 for n in range(total - sum(known.values()))}


def test_fillers_of_the_thesis() -> None:
    """Table 2.1: two fillers of each cover a half, stomach 36.6 % and with body 61.1 %."""
    injure = rest_of(70135, {"stomach": 25643, "body": 17242, "kidney": 85})
    assert covering(injure, 50) == ["stomach", "body"]
    destroy = rest_of(18274, {"atmosphere": 8140, "impression": 3774})
    assert covering(destroy, 50) == ["atmosphere", "impression"]
    assert covering(injure, 36) == ["stomach"]
    assert covering(injure, 36, tied=True) == ["stomach"]


def test_slots_of_the_thesis() -> None:
    """Table 2.2 has を alone of the first frame, の and を of the second."""
    assert covering({"ga": 1756, "wo": 70135, "de": 3941}, 50) == ["wo"]
    assert covering({"ga": 502, "no": 10147, "wo": 18274}, 64) == ["wo", "no"]


def test_the_one_that_crosses_is_in() -> None:
    """And what is as frequent, if it is asked for; nothing of nothing."""
    counts = {"d": 1, "a": 4, "c": 1, "b": 2}
    assert covering(counts, 50) == ["a"]
    assert covering(counts, 51) == ["a", "b"]
    assert covering(counts, 80) == ["a", "b", "c"]
    assert covering(counts, 80, tied=True) == ["a", "b", "c", "d"]
    assert covering(counts, 100) == ["a", "b", "c", "d"]
    assert covering({}, 50) == []


SEEN = [
    *[event("replac", subject="I", object="glass")] * 3,
    *[event("replac", subject="he", object="battery")] * 2,
    event("replac", subject="man", object="impact"),
    *[event("break", subject="glass", on="impact")] * 3,
    event("break", subject="it"),
]


def test_a_pronoun_is_recovered() -> None:
    """The thesis's example: it is the glass that is replaced, for nobody replaces an impact."""
    frames = case_frames(SEEN, 5000, 50, 50)
    former = event("break", subject="glass", on="impact")
    latter = event("replac", subject="I", object="it")
    assert frames.core_of_latter(former, latter) == ("replac(object glass)", "glass")
    impact = event("break", on="impact")
    assert frames.core_of_latter(impact, latter) == (None, None)
    assert frames.core_of(event("replac", object="impact")) is None
    swapped = event("break", on="impact", subject="glass")
    assert frames.core_of_latter(swapped, latter) == ("replac(object glass)", "glass")


def test_a_missing_argument_is_recovered() -> None:
    """Where the event has no core event as it stands; I and you stand for nobody else."""
    frames = case_frames(SEEN, 5000, 50, 50)
    former = event("break", subject="glass")
    assert frames.core_of_latter(former, event("replac")) == ("replac(object glass)", "glass")
    whole = event("replac", object="battery")
    assert frames.core_of_latter(former, whole) == (None, None)  # 3 of 6 are glass: δ is reached
    assert frames.core_of_latter(event("go", subject="it"), event("replac", object="it")) == (
        None,
        None,
    )


def test_pronouns_fill_no_slot_and_passive_subjects_that_of_the_object() -> None:
    """So the subject, a pronoun five times of six, is no core slot; passive events make no frames."""
    passive = [event("replac", passive=True, subject="roof")] * 9
    frames = case_frames([*SEEN, *passive], 5000, 50, 60)
    assert frames.slots["replac"] == {"object": {"glass", "battery"}}
    replaced = event("replac", passive=True, negated=True, subject="glass")
    assert frames.core_of(replaced) == "not replac(object glass)"
    assert frames.core_of(event("replac", subject="man")) is None


def test_only_frequent_predicates_have_a_frame() -> None:
    """α of them, in alphabetical order where they are as frequent."""
    frames = case_frames(SEEN, 1, 50, 50)
    assert list(frames.slots) == ["replac"]
    assert list(case_frames([event("b", of="x"), event("a", of="x")], 1, 50, 50).slots) == ["a"]

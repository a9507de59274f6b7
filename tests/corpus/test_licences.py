"""Which licences of rows are permitted by those that are named."""

import pytest

from pipeline.corpus.licences import excludes_itself, permits, relaxes, terms


@pytest.mark.parametrize(
    ("expression", "named", "expected"),
    [
        ("GPL-2.0-only WITH Classpath-exception-2.0", {"GPL-2.0-only"}, True),
        ("gpl-2.0-only WITH classpath-exception-2.0", {"GPL-2.0-only"}, True),
        ("MIT WITH No-Handing-On", {"MIT"}, False),
        ("MIT WITH No-Handing-On", {"MIT", "No-Handing-On"}, False),
        ("MIT WITH No-Handing-On", {"MIT WITH No-Handing-On"}, True),
        ("MIT WITH No-Handing-On OR CC0-1.0", {"CC0-1.0"}, True),
        ("CC0-1.0 AND MIT WITH No-Handing-On", {"CC0-1.0", "MIT"}, False),
        ("MIT WITH Classpath-exception-2.0", {"MIT WITH Classpath-exception-2.0"}, True),
    ],
)
def test_only_a_known_exception_goes_without_saying(
    expression: str, named: set[str], expected: bool
) -> None:
    """What follows WITH may take something away, unless conjoin knows that it does not."""
    assert permits(expression, named) is expected


@pytest.mark.parametrize(
    ("expression", "description"),
    [
        ("CC-BY-2.5 AND CC-BY-SA-3.0",
         "altered text may be handed on, with attribution, under the same ShareAlike licence"),
        ("CC-BY-NC-3.0 AND CC-BY-SA-3.0",
         "altered text may be handed on, with attribution, not for commercial use; "
         "altered text may be handed on, with attribution, under the same ShareAlike licence"),
        ("CC-BY-2.5 AND CC-BY-4.0", "altered text may be handed on, with attribution"),
        ("CC-BY-2.5 OR CC-BY-SA-3.0", "altered text may be handed on, with attribution"),
        ("CC-BY-4.0 AND unknown", "nobody has named a licence"),
    ],
)  # fmt: skip
def test_terms_of_all_licences_that_hold_are_named(expression: str, description: str) -> None:
    """Of several joined by AND none is kept quiet, and nothing is said twice."""
    assert terms(expression).why == description


def test_each_licence_of_an_expression_has_its_address() -> None:
    """One that is not known has none, nor has what is no expression."""
    home = "https://creativecommons.org/licenses"
    both = terms("CC-BY-2.5 AND CC-BY-SA-3.0").urls
    assert both == (f"{home}/by/2.5/", f"{home}/by-sa/3.0/")
    assert terms("cc-by-4.0 AND unknown").urls == (f"{home}/by/4.0/",)
    assert terms("ask CC-BY-4.0 for more").urls == ()


@pytest.mark.parametrize(
    ("new", "old", "expected"),
    [
        ("CC0-1.0", "CC-BY-NC-SA-3.0", True),
        ("CC-BY-NC-4.0", "CC-BY-NC-SA-3.0", True),
        ("CC-BY-NC-SA-4.0", "CC-BY-NC-SA-3.0", False),
        ("CC-BY-4.0", "CC-BY-ND-4.0", True),
        ("CC0-1.0", "LDC-User-Agreement", True),
        ("CC0-1.0", "CC-BY-3.0 AND LicenseRef-PubMed", True),
        ("CC0-1.0", "CC-BY-NC-4.0 OR MIT", True),
        ("MIT", "CC-BY-NC-4.0 OR MIT", False),
        ("CC-BY-NC-4.0 OR MIT", "CC-BY-NC-4.0", True),
        ("LDC-User-Agreement", "CC-BY-NC-4.0", False),
        ("my own terms", "CC-BY-NC-4.0", False),
        ("unknown", "CC-BY-NC-4.0", True),
        ("CC0-1.0", "unknown", False),
        ("MIT", "CC-BY-4.0", False),
        ("CC0-1.0", "CC-BY-4.0", True),
        ("Unlicense", "MIT", True),
        ("CC0-1.0", "PDDL-1.0", False),
        ("CC0-1.0", "CC-BY-4.0 OR CC0-1.0", False),
    ],
)
def test_what_permits_more_than_another_licence(new: str, old: str, expected: bool) -> None:
    """Trade, credit, sharing alike, handing on; what is unknown nobody hands on, and may be named later."""
    assert relaxes(new, old) is expected


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("CC-BY-NC-4.0 AND CC-BY-SA-4.0", True),
        ("CC-BY-NC-SA-4.0 AND CC-BY-SA-3.0", True),
        ("CC-BY-SA-4.0 AND GPL-2.0-only", True),
        ("CC-BY-NC-4.0 AND GPL-3.0-or-later", True),
        ("CC-BY-SA-3.0 AND CC-BY-SA-4.0", False),
        ("CC-BY-NC-4.0 AND CC-BY-NC-SA-4.0", False),
        ("CC-BY-4.0 AND CC-BY-SA-4.0", False),
        ("CC-BY-4.0 AND CC-BY-NC-4.0", False),
        ("CC-BY-SA-3.0 AND (CC-BY-NC-SA-4.0 AND MIT)", True),
        ("CC-BY-NC-4.0 OR CC-BY-SA-4.0", False),
        ("CC-BY-SA-4.0", False),
        ("my own terms", False),
    ],
)
def test_what_no_one_text_can_be_under(expression: str, expected: bool) -> None:
    """Two kinds of sharing alike, or one of them with trade and words that forbid it."""
    assert excludes_itself(expression) is expected


@pytest.mark.parametrize(
    ("name", "known"),
    [
        ("CC-BY-2.5", True),
        ("CC-BY-2.1-JP", True),
        ("CC-BY-4.5", False),
        ("CC-BY-1.5", False),
        ("CC-BY-2.1", False),
    ],
)
def test_versions_that_creative_commons_has(name: str, known: bool) -> None:
    """A slip is no licence."""
    assert terms(name).known is known

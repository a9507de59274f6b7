"""The documents of a released predictor: README.md, its model card, and LICENSE."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from pipeline.core.candidates import has_candidates
from pipeline.core.cards.predictors import PredictorFigures, PredictorManifest
from pipeline.core.comparison import FEWEST_DOCUMENTS
from pipeline.core.corpora import (
    ARGUMENTS,
    COORDINATION,
    CORPORA,
    QUESTIONS,
    RELATIONS,
    CorpusDescription,
)
from pipeline.core.corpus_folder import coordinators_of, ingest_card
from pipeline.core.files import write_text
from pipeline.core.markdown import code, grid, percent, plain, printable
from pipeline.core.types import COORDINATORS
from pipeline.corpus.layout import find_shards
from pipeline.corpus.licences import licence_ids, terms
from pipeline.corpus.rows import generations
from pipeline.release.card_text import templates
from pipeline.release.licence_files import apache, creators, hub_licence, tex
from pipeline.release.predictors.finished import FinishedRun

_HUB = re.compile(r"https://huggingface\.co/([\w-][\w.-]*/[\w-][\w.-]*)/?")

_OMURA = (
    "K. Omura. Studies on Data-Driven Discourse Relation Recognition toward Natural Language "
    "Understanding. Doctoral thesis, 2024."
)

_PAPERS = {
    ARGUMENTS: "R. Konno, Y. Matsubayashi, S. Kiyono, H. Ouchi, R. Takahashi and K. Inui. An Empirical "
    "Study of Contextual Data Augmentation for Japanese Zero Anaphora Resolution. COLING 2020.",
    QUESTIONS: _OMURA,
    RELATIONS: _OMURA,
}
"""What the model of a task is from."""

_NOT_THE_TEXT = (
    "Weights are not the text that they were learned from. Whether its terms bear on them all the same, no "
    "program can say: this is a list of those terms, and no legal advice."
)


def write_predictor_documents(folder: Path, manifest: PredictorManifest, run: FinishedRun) -> None:
    """Write README.md and LICENSE. The same run gives the same bytes: there are no dates in them."""
    shown = printable(manifest)
    write_text(folder / "LICENSE", _licence_file(shown))
    write_text(folder / "README.md", _card(shown, run))


def _card(manifest: Mapping[str, Any], run: FinishedRun) -> str:
    found = manifest.get("figures")
    return templates().get_template("predictor.md.jinja").render(
        front_matter=_front_matter(manifest, run),
        manifest=manifest,
        coordination=manifest["task"] == COORDINATION,
        by_algorithm_1=manifest["task"] == COORDINATION or _candidates_of(run) is not None,
        paper=_PAPERS.get(manifest["task"]),
        place=_place(manifest),
        learned=_learned(run),
        figures=_figures(found) if found else None,
        found=found,
        interval=_interval(found) if found else None,
        fewest=FEWEST_DOCUMENTS,
        criteria=_criteria(found) if found else None,
        sources=_sources(manifest),
        of_weights=_NOT_THE_TEXT,
        terms=terms(manifest["license"]),
        notices=_notices(run),
        bibtex=_bibtex(manifest),
    )  # fmt: skip


def _front_matter(manifest: Mapping[str, Any], run: FinishedRun) -> str:
    tags = ["conjoin", manifest["task"]]
    card = {
        "language": _languages(run),
        **hub_licence(manifest["license"]),
        "library_name": "conjoin",
        "tags": tags + ["coordination-disambiguation"] * (manifest["task"] == COORDINATION),
        "base_model": manifest["base_model"],
    }
    kept = {key: value for key, value in card.items() if value is not None}
    return str(yaml.safe_dump(kept, sort_keys=False, allow_unicode=True, width=100))


def _place(manifest: Mapping[str, Any]) -> str:
    """What to load it by: its name on the hub, or a path to fill in."""
    found = _HUB.fullmatch(manifest["url"] or "")
    return found[1] if found else "path/to/" + re.sub(r"[^\w.-]+", "-", manifest["name"])


def _candidates_of(run: FinishedRun) -> str | None:
    """The candidates that it learned from, as its settings name them; None: from none."""
    named = run.settings.get("candidates")
    return None if run.card["mode"] == "baseline" or not named else str(named)


def _learned(run: FinishedRun) -> str:
    """A sentence on the candidates that it learned from."""
    card, named = run.card, _candidates_of(run)
    if named is None:
        begun = card.get("begun_with")
        other = (
            f", but began with the encoder of a predictor that did, {code(begun['system'])}"
            if begun and begun["taught"]
            else ""
        )
        return f"It learned from no candidates{other}."
    models: list[str] = []
    folder = None if run.corpus is None else run.corpus / named
    if folder is not None and has_candidates(folder):
        runs = generations(find_shards(folder)).values()
        models = list(dict.fromkeys(str(each["model"]) for each in runs if each.get("model")))
    by = f", made by {' and '.join(map(code, models))}" if models else ""
    taken = ""
    if card.get("seen") is not None and card.get("accepted") is not None:
        taken = f"; it was shown {card['seen']:,} and accepted {card['accepted']:,}"
    return f"It learned from the candidates {code(printable(named))}{by}{taken}."


def _interval(found: PredictorFigures, column: str = "overall") -> str:
    known = {**found.get("intervals", {}), "overall": [found["low"], found["high"]]}
    return " to ".join(map(percent, known[column])) if column in known else "–"


def _figures(found: PredictorFigures) -> str:
    """A table: the figure by column, with its interval where there is one."""
    rows = [
        [plain(name), number, percent(found["figures"].get(name)), _interval(found, name)]
        for name, number in sorted(found["instances"].items(), key=lambda item: item[0] != "overall")
    ]  # fmt: skip
    return grid(["", "instances", "%", "95 % interval"], rows)


def _criteria(found: PredictorFigures) -> str:
    return ", ".join(f"{plain(name)} {percent(share)}" for name, share in found["criteria"].items())


def _sources(manifest: Mapping[str, Any]) -> str:
    """A table of what the weights were learned from, and under which terms that is."""
    rows = [
        [plain(each["part"]), code(each["name"]), each.get("rows") or None, code(each["license"]),
         plain(terms(each["license"]).why)]
        for each in manifest["learned_from"]
    ]  # fmt: skip
    return grid(["learned from", "name", "items", "licence", "of its text"], rows, names=2)


def _source(run: FinishedRun) -> CorpusDescription | None:
    """What the corpus was read of; None: it is not at hand, or of a reader that nobody knows."""
    reader = None if run.corpus is None else ingest_card(run.corpus).get("reader")
    return CORPORA.get(reader or "")


def _languages(run: FinishedRun) -> list[str] | None:
    """The language of its corpus; None: one with coordinators of its own, which says nothing of its name."""
    if run.corpus is not None and not COORDINATORS.issuperset(coordinators_of(run.corpus)):
        return None
    source = _source(run)
    return ["en" if source is None else source.language]


def _notices(run: FinishedRun) -> list[str]:
    """Whom the source's terms ask to be named."""
    source = _source(run)
    if source is None:
        return []
    notice = source.notice
    return [" ".join(filter(None, (f"{notice.source}.", notice.attribution, notice.url)))]


def _licence_file(manifest: Mapping[str, Any]) -> str:
    lines = [f"Licence of {manifest['name']} {manifest['version']}: {manifest['license']}", ""]
    lines += [f"  {url}" for url in terms(manifest["license"]).urls]
    if manifest["declared"]:
        lines += ["", f"{manifest['declared']} was declared by who released it."]
    lines += ["", _NOT_THE_TEXT, "", "Learned from", ""]
    for each in manifest["learned_from"]:
        own = terms(each["license"])
        lines.append(f"- {each['part']}, {each['name']}: {each['license']} ({own.why})")
    parts = licence_ids(manifest["license"])
    if "Apache-2.0" in parts and (text := apache()):
        lines += ["", "-" * 78, "", text]
    return "\n".join(lines).rstrip() + "\n"


def _bibtex(manifest: Mapping[str, Any]) -> str:
    key = re.sub(r"[^a-z0-9]+", "-", manifest["name"].lower()).strip("-") or "predictor"
    fields = {
        "title": f"{{{tex(manifest['name'])}}}",
        "author": " and ".join(
            tex(n) if "," in n else f"{{{tex(n)}}}" for n in creators(manifest)
        ),
        "version": tex(manifest["version"]),
        "note": f"A predictor; SHA-256 of its weights {manifest['files']['model.safetensors']}",
    }  # fmt: skip
    if manifest["url"]:
        fields["url"] = manifest["url"].replace("{", "%7B").replace("}", "%7D")
    lines = ",\n".join(f"  {name:<7} = {{{value}}}" for name, value in fields.items())
    return f"@misc{{{key},\n{lines}\n}}"

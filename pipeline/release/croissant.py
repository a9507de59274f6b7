"""``croissant.json``: a release as machines read it, after MLCommons' Croissant 1.1.

Files with their real checksums, the columns of both configurations down to the ends of a span, the
provenance in W3C PROV, and what the Responsible AI extension has words for and we have facts for.
There are no dates in it, so that the same input gives the same bytes.
"""

import json
import re
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from pipeline.core.candidates import HARVESTED
from pipeline.corpus.coordinators import is_english
from pipeline.corpus.licences import licence_ids, terms
from pipeline.release.licence_files import bibtex, creators
from pipeline.release.method_text import meanings, resource
from pipeline.release.shards import CONFIGS

_PARQUET = "application/x-parquet"
_KEYWORDS = ["coordination", "synthetic data", "text-infilling"]
_SHA256 = re.compile("[0-9a-f]{64}")
_CONFORMS = ["http://mlcommons.org/croissant/1.1", "http://mlcommons.org/croissant/RAI/1.0"]


def croissant(
    folder: Path,
    manifest: Mapping[str, Any],
    texts: Mapping[str, Any],
    origins: Sequence[str],
    about: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """The Croissant description of a release.

    Args:
        folder: of the release, whose shards stand.
        manifest: that of the release.
        texts: ``description``, ``collection`` (how the rows came about) and ``limits`` (a list), as
            plain text; the card says the same.
        origins: what the sentence ids begin with, for a release whose source is not at hand.
        about: of rows of another task than coordination: ``keywords``, ``columns`` (what each means) and
            ``verb``, the command that made them.
    """
    activity = partial(_making, verb=about["verb"]) if about else _activity
    columns = about["columns"] if about else meanings(manifest)
    parts = {p: [s for s in manifest["shards"] if s["config"] == p] for p in CONFIGS}
    whole = {
        "@context": json.loads(resource("croissant_context.json")),
        "@type": "sc:Dataset",
        "conformsTo": _CONFORMS,
        "name": manifest["name"],
        "description": texts["description"],
        "version": manifest["version"],
        "url": manifest["url"],
        "license": _licences(manifest["license"]),
        "creator": [_agent(name) for name in creators(manifest)],
        "citeAs": bibtex(manifest),
        **({"inLanguage": "en"} if is_english(manifest) else {}),
        "keywords": [*(about["keywords"] if about else _KEYWORDS), "conjoin"],
        "isLiveDataset": False,
        "prov:wasDerivedFrom": _derived_from(manifest, origins),
        "prov:wasGeneratedBy": [activity(key, g) for key, g in manifest["generations"].items()],
        "rai:dataCollection": texts["collection"],
        "rai:dataCollectionType": ["Synthetic data generation"],
        "rai:machineAnnotationTools": [f"conjoin {manifest['conjoin']}"],
        "rai:annotationsPerItem": "1",
        "rai:dataLimitations": texts["limits"],
        "distribution": [_file(s) for s in manifest["shards"]]
        + [_file_set(part) for part, shards in parts.items() if shards],
        "recordSet": [
            _records(part, pq.read_schema(folder / shards[0]["file"]), shards, columns)
            for part, shards in parts.items()
            if shards
        ],
    }
    return {key: value for key, value in whole.items() if value not in (None, [])}


def _licences(expression: str) -> list[str]:
    """The URL of each licence, or else its name: Croissant would rather have addresses."""
    names = licence_ids(expression)
    return [place for name in names for place in terms(name).urls or (name,)] or [expression]


def _agent(name: str) -> dict[str, Any]:
    family, comma, given = (part.strip() for part in name.partition(","))
    if comma and given:
        return {"@type": "sc:Person", "name": f"{given} {family}"}
    return {"@type": "sc:Organization", "name": name}


def _derived_from(manifest: Mapping[str, Any], origins: Sequence[str]) -> list[dict[str, Any]]:
    sources = manifest["sources"] or [{"corpus": name} for name in origins]
    return [
        {
            "@type": "prov:Entity",
            "@id": f"urn:conjoin:source:{source['corpus']}",
            "prov:label": source["corpus"],
            **({"sha256": source["sha256"]} if "sha256" in source else {}),
            **({"license": source["license"]} if source.get("license") else {}),
        }
        for source in sources
    ]


def _activity(key: str, generation: Mapping[str, Any]) -> dict[str, Any]:
    natural = generation.get("settings", {}).get("fills") == HARVESTED
    kind = "parser" if natural else "language model"
    used = [f"{kind} {generation.get('model')}"]
    for name, digest in sorted(generation.get("inputs", {}).items()):
        if digest:
            used.append(f"{name}, sha256 {digest}")
    return _did(key, generation, "harvest" if natural else "generate", used)


def _making(key: str, generation: Mapping[str, Any], verb: str) -> dict[str, Any]:
    """What made rows of another task: of its inputs those that have a digest are named."""
    used = [f"model {model}" for model in [generation.get("model")] if model]
    for name, digest in sorted((generation.get("inputs") or {}).items()):
        if isinstance(digest, str) and _SHA256.fullmatch(digest):
            used.append(f"{name}, sha256 {digest}")
    return _did(key, generation, verb, used)


def _did(key: str, generation: Mapping[str, Any], verb: str, used: Sequence[str]) -> dict[str, Any]:
    settings = generation.get("settings", {})
    said = ", ".join(f"{name}={value}" for name, value in sorted(settings.items()))
    return {
        "@type": "prov:Activity",
        "@id": f"urn:conjoin:generation:{key}",
        "prov:label": f"conjoin {verb}: {said}",
        "prov:used": [{"@type": "prov:Entity", "prov:label": each} for each in used],
        "prov:wasAssociatedWith": {
            "@type": "prov:SoftwareAgent",
            "prov:label": f"conjoin, algorithm {generation.get('algorithm', 'unknown')}",
        },
    }


def _file(shard: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "@type": "cr:FileObject",
        "@id": shard["file"],
        "name": shard["file"],
        "description": f"{shard['rows']} rows.",
        "contentUrl": shard["file"],
        "contentSize": f"{shard['bytes']} B",
        "encodingFormat": _PARQUET,
        "sha256": shard["sha256"],
    }


def _file_set(part: str) -> dict[str, Any]:
    config, place = CONFIGS[part]
    return {
        "@type": "cr:FileSet",
        "@id": f"{config}-shards",
        "name": f"{config}-shards",
        "description": f"All shards of the configuration {config}.",
        "encodingFormat": _PARQUET,
        "includes": f"{place}/train-*.parquet",
    }


def _records(
    part: str,
    schema: pa.Schema,
    shards: Sequence[Mapping[str, Any]],
    said: Mapping[str, str],
) -> dict[str, Any]:
    config = CONFIGS[part][0]
    # mlcroissant holds a file against its checksum if the records name it, but not the files of a set.
    source = (
        {"fileObject": {"@id": shards[0]["file"]}}
        if len(shards) == 1
        else {"fileSet": {"@id": f"{config}-shards"}}
    )
    what = "Usable rows." if part == "train" else "Refused rows, with the reason."
    return {
        "@type": "cr:RecordSet",
        "@id": config,
        "name": config,
        "description": f"{what} Any prefix is a fair sample.",
        "key": {"@id": f"{config}/candidate_id"},
        "field": [_field(config, field, source, said) for field in schema],
    }


def _field(
    config: str, field: pa.Field, source: Mapping[str, Any], said: Mapping[str, str]
) -> dict[str, Any]:
    name, kind = f"{config}/{field.name}", field.type
    about = {
        "@type": "cr:Field",
        "@id": name,
        "name": field.name,
        "description": said.get(field.name, field.name).replace("`", ""),
    }
    if pa.types.is_list(kind):
        about |= {"isArray": True, "arrayShape": "-1"}
        kind = kind.value_type
    extract = {**source, "extract": {"column": field.name}}
    if not pa.types.is_struct(kind):
        return about | {"dataType": _type(kind), "source": extract}
    inner = [
        {
            "@type": "cr:Field",
            "@id": f"{name}/{part.name}",
            "name": part.name,
            "dataType": _type(part.type),
            "source": {**extract, "transform": {"jsonPath": part.name}},
        }
        for part in kind
    ]
    return about | {"subField": inner}


def _type(kind: pa.DataType) -> str:
    if pa.types.is_integer(kind):
        return f"cr:Int{kind.bit_width}"
    if pa.types.is_floating(kind):
        return f"cr:Float{kind.bit_width}"
    return "sc:Text"

"""Put the settings of a study over params.yaml.

Usage, in a fresh clone: python benchmarks/study.py benchmarks/attested_study.yaml
"""

import sys
from pathlib import Path
from typing import Any

import yaml


def _over(below: Any, above: Any) -> Any:
    """Mappings are merged key by key; anything else is replaced."""
    if not (isinstance(below, dict) and isinstance(above, dict)):
        return above
    return below | {key: _over(below.get(key), value) for key, value in above.items()}


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    params = Path("params.yaml")
    merged = _over(
        yaml.safe_load(params.read_text()), yaml.safe_load(Path(sys.argv[1]).read_text())
    )
    params.write_text(yaml.safe_dump(merged, sort_keys=False, allow_unicode=True, width=120))

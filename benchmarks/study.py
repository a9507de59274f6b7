"""Put the grid of a study over params.yaml: its top-level keys replace those of the same name.

Usage, in a fresh clone: python benchmarks/study.py benchmarks/world_study.yaml
"""

import sys
from pathlib import Path

import yaml

if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    params = Path("params.yaml")
    merged = yaml.safe_load(params.read_text()) | yaml.safe_load(Path(sys.argv[1]).read_text())
    params.write_text(yaml.safe_dump(merged, sort_keys=False, allow_unicode=True, width=120))

"""What does a pass of a small encoder in two threads cost where every processor has something else to do?

A process for each way of waiting, beside as many busy ones as there are processors, and beside none: the
median of 15 passes over 16 sentences of 48 subwords, in milliseconds by the clock. On an idle machine.

    python benchmarks/busy_machine.py
"""

import os
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from benchmarks.table_parts import print_table
from pipeline.core.process import give_way

PASSES = """
import statistics, time, torch
from transformers import BertConfig, BertModel
torch.set_num_threads(2)
torch.manual_seed(0)
for width, layers in ((64, 2), (384, 6)):
    model = BertModel(BertConfig(hidden_size=width, num_hidden_layers=layers, num_attention_heads=4,
                                 intermediate_size=4 * width)).eval()
    ids = torch.randint(0, 1000, (16, 48))
    def spent():
        began = time.perf_counter()
        with torch.inference_mode():
            model(ids)
        return 1000 * (time.perf_counter() - began)
    spent()
    print(statistics.median(spent() for _ in range(15)))
"""

BUSY = "while True: pass"


def milliseconds(environment: dict[str, str]) -> list[float]:
    """Of a pass of each encoder, in a process with these variables."""
    done = subprocess.run(  # noqa: S603 - own code
        [sys.executable, "-c", PASSES],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    return [float(line) for line in done.stdout.split()]


def main() -> None:
    """Print a row for each load and way of waiting."""
    usual = {name: value for name, value in os.environ.items() if name != "GOMP_SPINCOUNT"}
    os.environ.pop("GOMP_SPINCOUNT", None)
    give_way()
    rows = []
    for load in (0, os.cpu_count() or 2):
        busy = [subprocess.Popen([sys.executable, "-c", BUSY]) for _ in range(load)]  # noqa: S603 - own code
        try:
            before, now = milliseconds(usual), milliseconds(dict(os.environ))
        finally:
            for each in busy:
                each.kill()
                each.wait()
        for name, one, other in zip(("2 × 64", "6 × 384"), before, now, strict=True):
            rows.append([str(load), name, f"{one:.1f}", f"{other:.1f}", f"{one / other:.2f}"])
    print_table(["busy processes", "encoder", "OpenMP's own", "conjoin's", "times as fast"], rows)


if __name__ == "__main__":
    main()

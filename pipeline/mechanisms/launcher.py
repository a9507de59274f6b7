"""``accelerate launch`` as a program that ends in one line instead of its own stack trace.

Run by ``workers.launch`` as ``python -m pipeline.mechanisms.launcher`` with the arguments of
``accelerate launch``.
"""

import logging
import signal
import sys

from accelerate.commands.launch import main as accelerate_launch
from torch.distributed.elastic.multiprocessing.api import SignalException
from torch.distributed.elastic.multiprocessing.errors import ChildFailedError

__all__ = ["main"]

_AGENT = "torch.distributed.elastic"


def main() -> None:
    """Launch, and exit with 2 where a worker did so (it has said why), else with 1."""
    # The agent's own account of a worker that ended is many lines beside the worker's one.
    for name in [n for n in logging.root.manager.loggerDict if n.startswith(_AGENT)]:
        logging.getLogger(name).setLevel(logging.CRITICAL)
    try:
        accelerate_launch()
    except ChildFailedError as error:
        codes = {rank: failure.exitcode for rank, failure in sorted(error.failures.items())}
        for rank, code in codes.items():
            # Workers that the agent stopped because another one ended are no news.
            if code < 0 and code != -signal.SIGTERM:
                name = signal.Signals(-code).name
                print(
                    f"conjoin: worker {rank} was ended by {name}; run the same command again, "
                    "finished shards are kept",
                    file=sys.stderr,
                )
        sys.exit(2 if 2 in codes.values() else 1)
    except SignalException as error:
        sys.exit(128 + int(error.sigval))


if __name__ == "__main__":
    main()

"""Where tensors are worked on. A module of its own, because torch takes seconds to import."""

import torch


def best_device() -> torch.device:
    """The GPU if there is one, else the CPU."""
    return torch.device("cuda" if torch.cuda.is_available() else "cpu")

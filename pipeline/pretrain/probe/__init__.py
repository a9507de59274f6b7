"""The fill probe: how often twins recover a conjunct of the right category, length and sense."""

from pipeline.pretrain.probe.build import build_probe
from pipeline.pretrain.probe.probe import Probe, Reading

__all__ = ["Probe", "Reading", "build_probe"]

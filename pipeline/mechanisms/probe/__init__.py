"""The fill probe: how often twins recover a conjunct of the right category, length and sense."""

from pipeline.mechanisms.probe.building import build_probe
from pipeline.mechanisms.probe.reading import Probe, Reading

__all__ = ["Probe", "Reading", "build_probe"]

"""The fill probe: how often twins recover a conjunct of the right category, length and sense."""

from pipeline.pretrain.probe.probe import Probe, ProbeResult, build_probe

__all__ = ["Probe", "ProbeResult", "build_probe"]

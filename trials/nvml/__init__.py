"""The GPUs of this machine, read through NVIDIA's management library (NVML)."""

from __future__ import annotations

from trials.nvml.probe import NvmlProbe

__all__ = ["NvmlProbe"]

"""Named checks of a vault and what is around it; never repairs."""

from sidelight.doctor.checks import as_json, diagnose, render, worst

__all__ = ["as_json", "diagnose", "render", "worst"]

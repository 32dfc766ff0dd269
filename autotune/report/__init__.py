"""The morning report: what a night found, as text and as one HTML file that can be mailed."""

from autotune.report.content import Report, read_report
from autotune.report.html import as_html
from autotune.report.text import as_text

__all__ = ["Report", "as_html", "as_text", "read_report"]

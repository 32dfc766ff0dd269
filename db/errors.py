"""What can be wrong with a study's file."""

from __future__ import annotations


class StudyFileError(RuntimeError):
    """A study cannot be read or written; the message is one sentence that says why and what to do."""


class StudyWriteError(StudyFileError):
    """A study is all right but cannot be written now: disk full, locked for too long, folder gone."""

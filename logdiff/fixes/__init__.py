"""Fixes as edits of the files that made a run."""

"""Answers in words from a model the user named, with every citation checked."""

"""Answers as text and JSON; no arithmetic beyond choosing a unit."""

"""Figures of a benchmark's results."""

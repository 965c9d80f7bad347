"""Injects faults into real runs and compares bit for bit with a run left alone: ``python -m soak``."""

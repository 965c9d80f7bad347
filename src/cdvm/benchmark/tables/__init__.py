"""Tables of a benchmark's results."""

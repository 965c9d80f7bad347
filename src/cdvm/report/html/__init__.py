"""One page that tells all of a run: gathered here as plain values, then written as HTML."""

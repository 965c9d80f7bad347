"""The program that chooses rows, its solvers, and the way from weights to rows."""

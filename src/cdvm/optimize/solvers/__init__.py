"""Solvers of the program, one file each; :func:`cdvm.solve` dispatches to them."""

"""Do the tests notice a change? Mutants by mutmut, tried by the tests of their room.

mutmut writes every function with one expression changed beside the original, and calls the one that
``MUTANT_UNDER_TEST`` names. Its own runner collects the tests anew for every mutant and takes tests from
everywhere: days, for a few thousand mutants. Here the tests of a room are collected once, and every mutant is
a fork of that process which runs those that reach the changed function, the fast and successful first.
"""

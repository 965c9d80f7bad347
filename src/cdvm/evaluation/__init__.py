"""How good a set of rows is, and better sets by retraining."""

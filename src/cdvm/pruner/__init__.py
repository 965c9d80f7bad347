"""CDVM, the estimator, and how it selects for a budget."""

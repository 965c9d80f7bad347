"""From S rows to better S rows, by retraining."""

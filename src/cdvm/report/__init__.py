"""What a run tells and writes."""

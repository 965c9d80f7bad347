"""What learners that train many models at once share."""

"""Tables as people have them, made into features: columns described, prepared, texts embedded."""

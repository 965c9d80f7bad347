"""What every step runs on: processes, clusters, progress, memory, files."""

"""Data in many files: shards, their manifest, packing and statistics."""

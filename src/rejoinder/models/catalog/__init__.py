"""Models by name: entries, how they are fetched, checked and converted."""

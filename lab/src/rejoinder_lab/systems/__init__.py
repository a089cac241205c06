"""Systems that come with the lab: one per file, by entry points."""

"""Commands of the lab, which come into ``rejoinder`` by entry points."""

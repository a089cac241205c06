"""The published baselines, one file each; they come into ``rejoinder`` by entry points."""

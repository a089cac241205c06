"""The networks of the published baselines."""

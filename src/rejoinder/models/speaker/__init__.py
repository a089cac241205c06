"""SSREM, RSREM and RUBER: scorers trained with speaker-sensitive negatives."""

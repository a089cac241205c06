"""SSREM (Bak and Oh 2020): a scorer trained with speaker-sensitive negatives."""

REPRODUCTIONS = ("speakers", "ssrem")

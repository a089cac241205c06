"""IDK (Berlot-Attwell and Rudzicz 2022): relevance from frozen features and one fixed negative."""

REPRODUCTIONS = ("idk",)

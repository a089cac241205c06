"""Response selection (Sato et al. 2020): test sets with well-chosen false candidates, and systems that answer them."""

from __future__ import annotations

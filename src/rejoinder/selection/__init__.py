"""Response selection: test sets with well-chosen false candidates, and systems that answer them (Sato et al. 2020)."""

from __future__ import annotations

"""Systems under test, one file each: they choose among candidates.

>>> from rejoinder.systems import parse_system
"""

from __future__ import annotations

from rejoinder.systems._base import System, parse_system, system_class, system_names, system_signature

__all__ = ["System", "parse_system", "system_class", "system_names", "system_signature"]

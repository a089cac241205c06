"""The documentation site: docs/ and what code says of itself, as plain pages that load nothing from elsewhere.

A generator of our own, because what it stands on (markdown-it, Pygments, Jinja) comes with the base install: the
site builds wherever rejoinder runs, and nothing more is pinned. ``make docs`` builds it into ``site/``.
"""

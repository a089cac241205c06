"""The documentation site: docs/ and what code says of itself, as plain pages that load nothing from elsewhere.

A generator of our own, because what it stands on (markdown-it, Pygments, Jinja) is small, and the site
works from files without a network; docs/design.md says what else was tried. ``make docs`` builds it into ``site/``.
"""

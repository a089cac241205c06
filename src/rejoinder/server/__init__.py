"""The servers: pages to explore and an HTTP API (``serve``), and the pages on which people judge (``annotate``)."""

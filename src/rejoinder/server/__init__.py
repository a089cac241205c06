"""The servers: pages to explore results and an HTTP API (``serve``), and the pages on which people judge (``annotate``)."""

"""USR's masked language model, trained here as an addition to a shipped encoder."""

"""Reading and writing: one JSONL schema, importers for foreign formats, loaders for published sets."""

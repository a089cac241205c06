"""The catalog of models: entries by name, and how they are downloaded, checked and converted."""

"""Models of the catalog downloaded, checked and converted into the cache."""

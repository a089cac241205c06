"""The API of ``rejoinder serve``: the library's verbs over HTTP, as JSON, with batches, limits and a description."""

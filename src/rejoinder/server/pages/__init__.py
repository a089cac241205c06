"""The pages of ``rejoinder serve``: try a reply, browse runs, test sets and models; each is also JSON."""

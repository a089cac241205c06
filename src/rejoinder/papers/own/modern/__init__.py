"""Replies by language models: does a metric prefer what people prefer?"""

REPRODUCTIONS = ("modern",)

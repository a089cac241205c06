"""Replies by language models: does a metric prefer what people prefer?"""

from rejoinder_lab.papers.requirements import Requirements

REPRODUCTIONS = ("modern",)
REQUIREMENTS = {
    "modern": Requirements(
        datasets=("pandalm", "llmbar"), row_models=("glove-6b-50d", "minilm", "smollm2-135m"), weights="research"
    ),
}

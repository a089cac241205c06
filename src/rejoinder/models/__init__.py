"""Models: encoders, language models, word vectors; torch is imported only when a model needs it."""

from typing import TYPE_CHECKING

from rejoinder.exports import export_lazily

if TYPE_CHECKING:
    from rejoinder.models.encoder.factory import load_encoder as load_encoder
    from rejoinder.models.language_model.model import load_language_model as load_language_model
    from rejoinder.models.word_vectors.model import load_word_vectors as load_word_vectors

__getattr__, __dir__, __all__ = export_lazily(
    __name__,
    {
        "encoder.factory": ("load_encoder",),
        "language_model.model": ("load_language_model",),
        "word_vectors.model": ("load_word_vectors",),
    },
)

"""How the shipped models are made: corpora in, model folders out; needs the extra ``torch``."""

"""English by rule and word list: verbs, contractions, synonyms, tenses, discourse markers."""

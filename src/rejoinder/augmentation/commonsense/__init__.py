"""References by common sense: knowledge, phrases and templates."""

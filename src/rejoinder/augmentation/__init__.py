"""One reference becomes many (SCARCE): proposals from several places, adapted to the context, and a choice of them."""

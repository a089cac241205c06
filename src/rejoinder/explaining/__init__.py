"""Why a reply got its score: parts of the context and words of the reply are left out, one at a time."""

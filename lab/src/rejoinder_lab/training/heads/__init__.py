"""The recipes of heads: small networks over the vectors of a frozen encoder."""

"""DynaEval, from its authors' checkpoint."""

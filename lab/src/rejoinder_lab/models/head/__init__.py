"""Small networks over the vectors of a frozen encoder: the baselines that other papers name."""

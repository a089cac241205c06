"""Aptness: the shipped networks, without torch but for what trains and exports them."""

"""One file per reproduction: a paper's table, published beside measured."""

"""Constituency trees: bracket files, linear strings, repair (paper, section 6.3)."""

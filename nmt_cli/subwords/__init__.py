"""Subwords: learn them, cut text into pieces and back, encode a corpus to ids on disk."""

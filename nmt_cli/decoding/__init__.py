"""Ids and text through the model: search, engines, the translator."""

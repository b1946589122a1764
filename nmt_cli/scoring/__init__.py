"""Scores of translations: BLEU in its protocols, chrF, TER; each with its signature."""

"""Parallel text: where it comes from, how it is cleaned, split and reported."""

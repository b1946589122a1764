"""An English-German corpus written by a lexicon and a small grammar, for the demo that needs no network."""

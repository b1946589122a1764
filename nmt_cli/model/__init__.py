"""The Transformer: attention, layers, embeddings, the whole, its initialisation and its loss."""

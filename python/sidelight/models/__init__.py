"""Embedding and reranking models: building, verifying and running them."""

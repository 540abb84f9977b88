"""Other knowledge bases beside the vault: asked at once, fused by rank, held to evidence."""

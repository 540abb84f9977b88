"""From bytes on disk to notes, links and chunks. Knows no index."""

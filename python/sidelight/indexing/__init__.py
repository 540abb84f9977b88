"""From changed notes to rows of the store, and the link graph."""

"""The index on disk: the only place that knows LanceDB."""

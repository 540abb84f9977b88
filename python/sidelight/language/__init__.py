"""From text to terms and languages."""

"""From a question to cited passages; `pipeline` reads top to bottom, one module a stage."""

"""The page: a read-only window on studies, in a process of its own that no night depends on."""

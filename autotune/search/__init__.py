"""autotune/search."""

"""autotune/dashboard."""

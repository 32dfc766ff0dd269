"""autotune/cli."""

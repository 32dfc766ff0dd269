"""autotune/export."""

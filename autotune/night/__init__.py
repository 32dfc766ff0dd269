"""autotune/night."""

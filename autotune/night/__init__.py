"""The loop of a night and its advisers: each adviser decides from plain data, only the loop acts."""

"""trials/box."""

"""What a server's death means."""

"""Servers for tests and benchmarks whose behaviour is known exactly."""

"""Sips: pure, bounded reads, one operation a file. Each file exposes ``SIP``."""

"""Stores: bytes in, bytes out. See ``_protocols`` for what every backend guarantees."""

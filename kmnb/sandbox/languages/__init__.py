"""Languages, one a file: each exposes ``LANGUAGE``."""

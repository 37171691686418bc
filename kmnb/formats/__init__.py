"""Content formats, one a file. Each file exposes ``FORMAT``; none does I/O."""

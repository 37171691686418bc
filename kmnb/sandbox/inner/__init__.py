"""What runs in the spawner and in the programs' processes, never in the server.

The spawner is exec'd with ``-I -S``, an empty environment and one thread; everything here is standard library, and
forked processes shed it before a program starts.
"""

"""Part of kmnb."""

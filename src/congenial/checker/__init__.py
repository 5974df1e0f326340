"""The checker: every interleaving of small systems, deep random schedules of large ones."""

"""Group mutual exclusion: holders of one group are inside together, groups exclude each other."""

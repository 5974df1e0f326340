"""What can be run: an algorithm with its options and size; the catalogue of algorithms; seeded random streams."""

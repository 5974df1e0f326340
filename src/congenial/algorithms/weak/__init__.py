"""Weak mutual exclusion over a replicated resource: it survives crashes and false suspicions."""

"""The published algorithms, one file each; `catalogue` lists them."""

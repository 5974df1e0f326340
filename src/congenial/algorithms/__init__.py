"""The published algorithms, one file each; `congenial.systems.catalogue` lists them."""

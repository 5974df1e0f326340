"""`python -m congenial` is the same as `congenial`."""

from congenial.cli import main

if __name__ == "__main__":
    main()

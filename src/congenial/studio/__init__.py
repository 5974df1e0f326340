"""The studio: runs and live clusters in a browser. `document.py` says what a page is given, `pages.py` makes pages that
stand by themselves, `server.py` is the local web application."""

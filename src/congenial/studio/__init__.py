"""The studio: runs and live clusters in a browser. `document.py` says what a page is given, `pages.py` makes
self-contained pages, `server.py` is the local web application."""

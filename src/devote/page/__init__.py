"""The web page: ``view`` is what it shows, ``page`` its routes. Nothing here can be written to."""

"""The web page: its views and its routes. Nothing here can be written to."""

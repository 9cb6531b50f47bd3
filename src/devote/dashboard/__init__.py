"""The web page and its routes: read-only views."""

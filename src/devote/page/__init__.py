"""The web page and its routes: read-only views."""

from devote.page.page import add_page

__all__ = ["add_page"]

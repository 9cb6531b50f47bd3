"""The web page and its routes: read-only views."""

from devote.dashboard.page import add_page

__all__ = ["add_page"]

"""The page that a server shows to people."""

from fastapi import FastAPI
from fastapi.responses import HTMLResponse


def add_page(app: FastAPI) -> None:
    """Serve the page at the root of a server."""

    @app.get("/", include_in_schema=False)
    async def page() -> HTMLResponse:
        return HTMLResponse("<!doctype html><title>devote</title>")

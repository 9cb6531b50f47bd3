"""Programs that make pages and tables of the documentation; no part of the package."""

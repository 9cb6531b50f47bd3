"""How figures look: one style, and curves with their names at the ends of lines."""

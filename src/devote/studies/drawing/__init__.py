"""How figures look: one style, curves with bands, labels at the ends of lines."""

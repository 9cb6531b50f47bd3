"""What an experiment is worth and what it costs: promises, bounds, estimates and the planner."""

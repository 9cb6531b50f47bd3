"""What a plan costs as one of its numbers varies: the sweep, and its picture."""

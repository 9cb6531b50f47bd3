"""The jury: a few devices learn alone, each sends the arm it ended with, and c of J decide."""

"""The jury: a few devices learn alone, each says which arm it ended with, and c of J decide."""

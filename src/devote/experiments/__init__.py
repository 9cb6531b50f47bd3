"""One folder per figure or study."""

"""Many scenarios at once: on several workers or a cluster, and from where it stopped."""

"""The demonstration: a server and a crowd of devices with made-up users, in real processes."""

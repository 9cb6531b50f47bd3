"""The ``devote`` command: one subcommand per file, each renders what one library function gives."""

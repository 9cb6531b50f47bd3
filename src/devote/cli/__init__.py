"""The ``devote`` command: subcommands, each renders what one library function gives."""

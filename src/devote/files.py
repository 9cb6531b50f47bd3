"""Files that appear whole or not at all."""

import os
from pathlib import Path


def write_whole(path: str | Path, data: bytes, mode: int = 0o666) -> Path:
    """Write a file so that it appears whole or not at all, in place of any file before it.

    Whoever reads it meanwhile, or after a crash, finds the old content or the new.
    """
    target = Path(path)
    partial = target.with_name(f"{target.name}.{os.getpid()}.partial")
    try:
        with open(partial, "wb", opener=lambda name, flags: os.open(name, flags, mode)) as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        partial.replace(target)
    finally:
        partial.unlink(missing_ok=True)
    return target

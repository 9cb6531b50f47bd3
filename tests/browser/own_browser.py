"""A Chromium process of our own with its profile on disk, to be killed as a power cut would."""

import os
import shutil
import signal
import subprocess
import time
from contextlib import AbstractContextManager, suppress
from pathlib import Path

from playwright.sync_api import BrowserContext, Error, Playwright
from tests.chromium import FLAGS


class OwnBrowser(AbstractContextManager["OwnBrowser"]):
    """Started with the profile in ``folder``; its processes are one group, which is ended."""

    def __init__(self, playwright: Playwright, folder: Path) -> None:
        path = shutil.which("chromium")
        assert path is not None
        port = folder / "DevToolsActivePort"
        port.unlink(missing_ok=True)
        options = ["--headless=new", "--remote-debugging-port=0", f"--user-data-dir={folder}"]
        self._process = subprocess.Popen(
            [path, *FLAGS, *options, "about:blank"],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        deadline = time.monotonic() + 30
        while not (port.exists() and port.read_text().count("\n")):
            assert time.monotonic() < deadline, "Chromium did not start"
            time.sleep(0.05)
        address = f"http://127.0.0.1:{port.read_text().split()[0]}"
        self._browser = playwright.chromium.connect_over_cdp(address)
        self.context: BrowserContext = self._browser.contexts[0]

    def kill(self) -> None:
        """End all its processes at once."""
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()

    def __exit__(self, *_: object) -> None:
        with suppress(Error):
            self._browser.close()
        self.kill()

"""What can happen to a page: its renderer killed, its clock set, its store put back."""

from contextlib import suppress

from playwright.sync_api import Error, Page

_RECORDS = """() => new Promise((resolve, reject) => {
  const asked = indexedDB.open("devote", 1);
  asked.onerror = () => reject(asked.error);
  asked.onsuccess = () => {
    const transaction = asked.result.transaction("experiments", "readwrite");
    const records = transaction.objectStore("experiments");
    let found = null;
    records.getAll().onsuccess = ({target: {result: all}}) => { WORK };
    transaction.oncomplete = () => { asked.result.close(); resolve(found); };
  };
})"""


def _with_records(work: str) -> str:
    """A script that works on all records of the client's store, and gives ``found``."""
    return _RECORDS.replace("WORK", work)


NOISE = _with_records("found = all[0]?.play?.noise ?? null")
"""The noise of the open question."""


def pass_time(page: Page) -> None:
    """An hour passes for the question in the store; pages notice when they are loaded."""
    earlier = "play.askedAt -= 36e5; play.leavesAt -= 36e5"
    page.evaluate(
        _with_records(
            f"for (const one of all) {{ const {{play}} = one; if (play) {{ {earlier} }}"
            " records.put(one) }"
        )
    )


def set_aside(page: Page) -> None:
    """Keep a copy of the device's record, key and all, as a backup of the profile would."""
    page.evaluate(_with_records("records.put({...all[0], url: 'copy'})"))


def put_back(page: Page) -> None:
    """Put the copy in the place of the record."""
    page.evaluate(
        _with_records(
            "const copy = all.find(({url}) => url === 'copy');"
            "const {url} = all.find(({url}) => url !== 'copy');"
            "records.put({...copy, url}); records.delete('copy')"
        )
    )


def crash(page: Page) -> None:
    """Kill the page's renderer."""
    with suppress(Error):  # a page that is dead does not answer
        page.goto("chrome://crash", timeout=5_000)


class Clock:
    """A wall clock that is wrong by so many days; called with a page, from its start on."""

    def __init__(self, days: float) -> None:
        late = days * 86_400_000
        self._script = f"(() => {{ const now = Date.now; Date.now = () => now() + {late}; }})()"

    def __call__(self, page: Page) -> None:
        page.add_init_script(self._script)

    def now(self, page: Page) -> None:
        page.evaluate(self._script)

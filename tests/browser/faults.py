"""What can happen to a page: its renderer killed, its clock set, its store put back."""

from contextlib import suppress

from playwright.sync_api import Error, Page

_RECORDS = """(own) => new Promise((resolve, reject) => {
  const asked = indexedDB.open("devote", 1);
  asked.onerror = () => reject(asked.error);
  asked.onsuccess = () => {
    const transaction = asked.result.transaction("experiments", "readwrite");
    const records = transaction.objectStore("experiments");
    let found = null;
    records.get(own).onsuccess = ({target: {result: state}}) => { WORK };
    transaction.oncomplete = () => { asked.result.close(); resolve(found); };
  };
})"""


def _with_record(work: str) -> str:
    """A script that works on the record of an address, and gives ``found``."""
    return _RECORDS.replace("WORK", work)


NOISE = _with_record("found = state?.play?.noise ?? null")
"""The noise of the open question, given the address."""


def pass_time(page: Page, url: str) -> None:
    """An hour passes for the question in the store; pages notice when they are loaded."""
    earlier = "state.play.askedAt -= 36e5; state.play.leavesAt -= 36e5"
    page.evaluate(_with_record(f"{earlier}; records.put(state)"), url)


def set_aside(page: Page, url: str) -> None:
    """Keep a copy of the device's record, key and all, as a backup of the profile would."""
    page.evaluate(_with_record("records.put({...state, url: 'copy'})"), url)


def put_back(page: Page, url: str) -> None:
    """Put the copy in the place of the record."""
    copy = (
        "records.get('copy').onsuccess = ({target: {result}}) => records.put({...result, url: own})"
    )
    page.evaluate(_with_record(copy), url)


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

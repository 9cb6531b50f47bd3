"""What can happen to a page: its renderer killed, its clock set, its store put back."""

from contextlib import suppress

from playwright.sync_api import Error, Page

RECORD = """(change) => new Promise((resolve, reject) => {
  const asked = indexedDB.open("devote", 1);
  asked.onerror = () => reject(asked.error);
  asked.onsuccess = () => {
    const records = asked.result.transaction("experiments", "readwrite").objectStore("experiments");
    records.getAll().onsuccess = (event) => {
      const [state] = event.target.result;
      (CHANGE)(state, records);
      records.transaction.oncomplete = () => { asked.result.close(); resolve(RESULT); };
    };
  };
})"""


def _with_record(change: str, result: str = "undefined") -> str:
    return RECORD.replace("CHANGE", change).replace("RESULT", result)


NOISE = _with_record("() => {}", "state?.play?.noise ?? null").replace(
    "resolve(state", "resolve(event.target.result[0]"
)
"""The noise of the open question."""


def crash(page: Page) -> None:
    """Kill the page's renderer."""
    with suppress(Error):  # a page that is dead does not answer
        page.goto("chrome://crash", timeout=5_000)


def set_aside(page: Page) -> None:
    """Keep a copy of the device's record, key and all, as a backup of the profile would."""
    page.evaluate(_with_record("(state, records) => records.put({...state, url: 'copy'})"))


def put_back(page: Page) -> None:
    """Put the copy in the place of the record."""
    page.evaluate(
        """() => new Promise((resolve) => {
          const asked = indexedDB.open("devote", 1);
          asked.onsuccess = () => {
            const transaction = asked.result.transaction("experiments", "readwrite");
            const records = transaction.objectStore("experiments");
            records.getAll().onsuccess = (event) => {
              const copy = event.target.result.find(({url}) => url === "copy");
              const {url} = event.target.result.find(({url}) => url !== "copy");
              records.put({...copy, url});
              records.delete("copy");
            };
            transaction.oncomplete = () => { asked.result.close(); resolve(); };
          };
        })"""
    )


class Clock:
    """A wall clock that is wrong by so many days; called with a page, from its start on."""

    def __init__(self, days: float) -> None:
        self._script = (
            f"(() => {{ const now = Date.now; Date.now = () => now() + {days * 864e5}; }})()"
        )

    def __call__(self, page: Page) -> None:
        page.add_init_script(self._script)

    def now(self, page: Page) -> None:
        page.evaluate(self._script)

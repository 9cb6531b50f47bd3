"""A device process that does one thing at a time, as told by lines over a socket.

``choose U`` reads the board and plays with the uniform number U, ``reward X`` passes on what the
arm paid and posts what follows. Each is answered by a line of JSON. It reads as a device's loop
does: the tally, and the log where that is needed, and now and then all of it.
"""

import json
import socket
import time

from devote.device import Device
from devote.device.sync import CHECK_EVERY, Pace

ONLY_WHEN_TOLD = Pace(every=1e6, base=0.05, cap=0.5)


def sync(device: Device, *, verify_history: bool = False) -> None:
    while not device.sync(verify_history=verify_history):
        time.sleep(0.05)


def step_as_told(port: str, url: str, store: str, invite: str) -> None:
    """Until whoever listens at ``port`` hangs up."""
    uniform, rounds = 0.0, 0
    with (
        Device.join(
            url, store=store, invite=invite, dice=lambda: uniform, pace=ONLY_WHEN_TOLD
        ) as device,
        socket.create_connection(("127.0.0.1", int(port))) as connection,
        connection.makefile("rw") as lines,
    ):
        print(json.dumps(device.status().voter), file=lines, flush=True)
        for line in lines:
            verb, number = line.split()
            if verb == "choose":
                uniform = float.fromhex(number)
                sync(device, verify_history=rounds % CHECK_EVERY == 0)
                rounds += 1
                print(json.dumps(device.choose()), file=lines, flush=True)
            else:
                device.reward(float.fromhex(number))
                while device.status().waiting:
                    sync(device)
                print(json.dumps(device.status().remaining), file=lines, flush=True)

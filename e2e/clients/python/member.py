# Copyright The iggy-kafka Authors
# SPDX-License-Identifier: Apache-2.0
"""What the members in Python share: their configuration, their events and the signal that ends them."""

import json
import signal
import sys


def configuration():
    return json.loads(sys.argv[1])


def emit(event, **fields):
    print(json.dumps({"event": event, **fields}), flush=True)


class Stop:
    """True once the member has been told to end."""

    def __init__(self):
        self.told = False
        signal.signal(signal.SIGTERM, self._tell)

    def _tell(self, *_):
        self.told = True

    def __bool__(self):
        return self.told

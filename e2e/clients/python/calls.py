# Copyright The iggy-kafka Authors
# SPDX-License-Identifier: Apache-2.0
"""What the programs in Python that make calls share: see Program in the package clients for what they read and print."""

import base64
import json
import os
import sys
import traceback

LIMIT = 10  # seconds that one step of a call may take


# How to say who one is, and whom to believe; empty: not at all.
USER, PASSWORD, CA, CERT, KEY = (os.environ.get(name, "") for name in ("SASL_USER", "SASL_PASSWORD", "TLS_CA", "TLS_CERT", "TLS_KEY"))
PROTOCOL = {(False, False): "PLAINTEXT", (True, False): "SASL_PLAINTEXT", (False, True): "SSL", (True, True): "SASL_SSL"}[bool(USER), bool(CA)]


class Lacking(Exception):
    """The library has nothing for a call."""


def bytes_of(text):
    return None if text is None else base64.b64decode(text)


def text_of(data):
    return None if data is None else base64.b64encode(data).decode()


def headers_of(record):
    """The headers of a record that is to be written: name and bytes."""
    return [(h["name"], bytes_of(h["value"])) for h in record["headers"] or []]


def read(partition, offset, timestamp, key, value, headers):
    """A record that was read."""
    return {
        "partition": partition,
        "offset": offset,
        "timestamp": timestamp,
        "key": text_of(key),
        "value": text_of(value),
        "headers": [{"name": name, "value": text_of(data)} for name, data in headers or []],
    }


def check(ok, what):
    """Libraries that return errors instead of raising them."""
    if not ok:
        raise RuntimeError(what)


def settings_of(responses):
    """Those of the one topic in answers as they came: code, text, kind, topic, and settings, which begin with name and value."""
    ((code, text, _, _, settings),) = responses[0].resources
    check(code == 0, text)
    return {setting[0]: setting[1] for setting in settings}


def answer(call, run):
    try:
        return {"result": run(call.pop("call"), call)}
    except Lacking as e:
        return {"lacks": str(e) or "has no call for it"}
    except Exception as e:
        traceback.print_exc()
        return {"error": f"{type(e).__name__}: {e}"}


def serve(about, run):
    """Prints what the library is and has, then answers one call a line until there are no more."""
    print(json.dumps(about), flush=True)
    for line in sys.stdin:
        print(json.dumps(answer(json.loads(line), run)), flush=True)

# Copyright The iggy-kafka Authors
# SPDX-License-Identifier: Apache-2.0

"""Writes with librdkafka for a while, over one login that it has to renew, and prints how many records were acknowledged:
relogin.py CONFIG."""

import json
import sys
import time

from confluent_kafka import Producer

config = json.loads(sys.argv[1])
failed, written = [], 0


def delivered(error, _):
    global written
    if error:
        failed.append(error)
    else:
        written += 1


producer = Producer({
    "bootstrap.servers": config["broker"], "linger.ms": 0,
    "security.protocol": "SASL_PLAINTEXT", "sasl.mechanisms": "PLAIN",
    "sasl.username": config["user"], "sasl.password": config["password"],
})
end = time.monotonic() + config["seconds"]
while time.monotonic() < end:
    producer.produce(config["topic"], b"value", on_delivery=delivered)
    producer.poll(0.02)
if producer.flush(10) or failed:
    sys.exit(f"not delivered: {failed}")
print(written)

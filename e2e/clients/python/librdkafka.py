# Copyright The iggy-kafka Authors
# SPDX-License-Identifier: Apache-2.0
"""A member of a consumer group that uses librdkafka through confluent-kafka."""

import confluent_kafka
from confluent_kafka import Consumer, KafkaException

from member import Stop, configuration, emit

config, stop = configuration(), Stop()
settings = {
    "bootstrap.servers": config["broker"],
    "group.id": config["group"],
    "partition.assignment.strategy": config["assignor"],
    "session.timeout.ms": config["session_timeout_ms"],
    "heartbeat.interval.ms": config["heartbeat_ms"],
    "auto.offset.reset": "earliest",
    "enable.auto.commit": False,
    "fetch.wait.max.ms": 200,
    "reconnect.backoff.max.ms": 1000,
}
if config["instance"]:
    settings["group.instance.id"] = config["instance"]
emit("started", version=confluent_kafka.libversion()[0])


def partitions(event):
    return lambda _, changed: emit(event, partitions=[p.partition for p in changed])


consumer = Consumer(settings)
consumer.subscribe([config["topic"]], on_assign=partitions("assigned"), on_revoke=partitions("revoked"), on_lost=partitions("revoked"))
while not stop:
    # The callbacks are called in here, before or after the records, never between them.
    offsets = {}
    for message in consumer.consume(100, 0.1):
        if message.error():
            emit("error", error=str(message.error()))
            continue
        emit("record", partition=message.partition(), offset=message.offset(), value=message.value().decode())
        offsets[message.partition()] = message.offset() + 1
    if offsets:
        try:
            wanted = [confluent_kafka.TopicPartition(config["topic"], p, o) for p, o in offsets.items()]
            for done in consumer.commit(offsets=wanted, asynchronous=False):
                if done.error:
                    emit("error", error=str(done.error))
                else:
                    emit("committed", offsets={done.partition: done.offset})
        except KafkaException as e:
            emit("error", error=str(e))
consumer.close()
emit("closed")

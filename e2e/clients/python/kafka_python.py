# Copyright The iggy-kafka Authors
# SPDX-License-Identifier: Apache-2.0
"""A member of a consumer group that uses kafka-python."""

import time

import kafka
from kafka.coordinator.assignors.cooperative_sticky import CooperativeStickyAssignor
from kafka.coordinator.assignors.range import RangePartitionAssignor
from kafka.coordinator.assignors.roundrobin import RoundRobinPartitionAssignor
from kafka.errors import KafkaError

from member import Stop, configuration, emit

config, stop = configuration(), Stop()
assignors = {"range": RangePartitionAssignor, "roundrobin": RoundRobinPartitionAssignor, "cooperative-sticky": CooperativeStickyAssignor}
emit("started", version=kafka.__version__)


class Listener(kafka.ConsumerRebalanceListener):
    def on_partitions_assigned(self, assigned):
        emit("assigned", partitions=[p.partition for p in assigned])

    def on_partitions_revoked(self, revoked):
        emit("revoked", partitions=[p.partition for p in revoked])


consumer = kafka.KafkaConsumer(
    bootstrap_servers=config["broker"],
    group_id=config["group"],
    group_instance_id=config["instance"] or None,
    partition_assignment_strategy=[assignors[config["assignor"]]],
    session_timeout_ms=config["session_timeout_ms"],
    heartbeat_interval_ms=config["heartbeat_ms"],
    auto_offset_reset="earliest",
    enable_auto_commit=False,
    fetch_max_wait_ms=200,
    reconnect_backoff_max_ms=1000,
)
consumer.subscribe([config["topic"]], listener=Listener())
while not stop:
    offsets = {}
    # A poll that times out while the group is being joined may lose the assignment for ever (3.0.12 goes on as if it had
    # been told of it): wait for longer than joining takes. Records end it early.
    try:
        polled = consumer.poll(timeout_ms=2000, max_records=100)
    except KafkaError as e:  # nobody listens for a moment: other clients retry that by themselves
        emit("error", error=repr(e))
        time.sleep(0.1)
        continue
    for partition, records in polled.items():
        for record in records:
            emit("record", partition=record.partition, offset=record.offset, value=record.value.decode())
        offsets[partition] = kafka.OffsetAndMetadata(records[-1].offset + 1, "", -1)
    if offsets:
        try:
            consumer.commit(offsets)
            emit("committed", offsets={p.partition: o.offset for p, o in offsets.items()})
        except KafkaError as e:
            emit("error", error=repr(e))
consumer.close()
emit("closed")

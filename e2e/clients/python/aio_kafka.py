# Copyright The iggy-kafka Authors
# SPDX-License-Identifier: Apache-2.0
"""A member of a consumer group that uses aiokafka."""

import asyncio

import aiokafka
from aiokafka.coordinator.assignors.range import RangePartitionAssignor
from aiokafka.coordinator.assignors.roundrobin import RoundRobinPartitionAssignor
from aiokafka.errors import KafkaError

from member import Stop, configuration, emit

assignors = {"range": RangePartitionAssignor, "roundrobin": RoundRobinPartitionAssignor}


class Listener(aiokafka.ConsumerRebalanceListener):
    async def on_partitions_assigned(self, assigned):
        emit("assigned", partitions=[p.partition for p in assigned])

    async def on_partitions_revoked(self, revoked):
        emit("revoked", partitions=[p.partition for p in revoked])


async def main():
    config, stop = configuration(), Stop()
    emit("started", version=aiokafka.__version__)
    consumer = aiokafka.AIOKafkaConsumer(
        bootstrap_servers=config["broker"],
        group_id=config["group"],
        group_instance_id=config["instance"] or None,
        partition_assignment_strategy=[assignors[config["assignor"]]],
        session_timeout_ms=config["session_timeout_ms"],
        heartbeat_interval_ms=config["heartbeat_ms"],
        auto_offset_reset="earliest",
        enable_auto_commit=False,
        fetch_max_wait_ms=200,
    )
    consumer.subscribe([config["topic"]], listener=Listener())
    await consumer.start()
    while not stop:
        offsets = {}
        for partition, records in (await consumer.getmany(timeout_ms=100, max_records=100)).items():
            for record in records:
                emit("record", partition=record.partition, offset=record.offset, value=record.value.decode())
            offsets[partition] = records[-1].offset + 1
        if offsets:
            try:
                await consumer.commit(offsets)
                emit("committed", offsets={p.partition: o for p, o in offsets.items()})
            except KafkaError as e:
                emit("error", error=repr(e))
    await consumer.stop()
    emit("closed")


asyncio.run(main())

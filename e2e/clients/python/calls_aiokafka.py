# Copyright The iggy-kafka Authors
# SPDX-License-Identifier: Apache-2.0
"""Makes calls with aiokafka, of releases from 0.8 on: calls_aiokafka.py BROKER."""

import asyncio
import sys

import aiokafka
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from aiokafka.admin import AIOKafkaAdminClient, NewTopic
from aiokafka.helpers import create_ssl_context

from calls import CA, CERT, KEY, LIMIT, PASSWORD, PROTOCOL, USER, Lacking, bytes_of, check, headers_of, read, serve, settings_of

try:
    from aiokafka.admin import NewPartitions
    from aiokafka.admin.config_resource import ConfigResource, ConfigResourceType
except ImportError:  # in 0.8 it takes kafka-python's
    from kafka.admin import ConfigResource, ConfigResourceType, NewPartitions

broker = {"bootstrap_servers": sys.argv[1], "security_protocol": PROTOCOL}
if USER:
    broker |= {"sasl_mechanism": "PLAIN", "sasl_plain_username": USER, "sasl_plain_password": PASSWORD}
if CA:
    broker["ssl_context"] = create_ssl_context(cafile=CA, certfile=CERT or None, keyfile=KEY or None)


async def administer(call):
    admin = AIOKafkaAdminClient(**broker)
    await admin.start()
    try:
        return await call(admin)
    finally:
        await admin.close()


async def create_topic(topic, partitions):
    result = await administer(lambda a: a.create_topics([NewTopic(topic, partitions, 1)]))
    check(result.topic_errors[0][1] == 0, result)


async def delete_topic(topic):
    result = await administer(lambda a: a.delete_topics([topic]))
    check(result.topic_error_codes[0][1] == 0, result)


async def produce(topic, partition, codec, acks, idempotent, records):
    compression = None if codec == "none" else codec
    async with AIOKafkaProducer(**broker, compression_type=compression, acks="all" if acks == -1 else acks, enable_idempotence=idempotent, linger_ms=5) as producer:
        sent = [
            await producer.send(
                topic, bytes_of(r["value"]), bytes_of(r["key"]), partition, r["timestamp"], headers=headers_of(r)
            )
            for r in records
        ]
        done = await asyncio.wait_for(asyncio.gather(*sent), LIMIT)
    return [d.offset for d in done] if acks else None


async def poll(consumer, n):
    records = []
    while len(records) < n:
        polled = await consumer.getmany(timeout_ms=LIMIT * 1000, max_records=n - len(records))
        check(polled, f"{len(records)} of {n} records came")
        for batch in polled.values():
            records += [read(r.partition, r.offset, r.timestamp, r.key, r.value, r.headers) for r in batch]
    return records


def consumer_of(group, *topics):
    return AIOKafkaConsumer(*topics, **broker, group_id=group, enable_auto_commit=False, auto_offset_reset="earliest", fetch_max_wait_ms=100)


async def consume(topic, partition, offset, n):
    async with consumer_of(None) as consumer:
        consumer.assign([aiokafka.TopicPartition(topic, partition)])
        consumer.seek(aiokafka.TopicPartition(topic, partition), offset)
        return await poll(consumer, n)


async def consume_group(topic, group, n):
    async with consumer_of(group, topic) as consumer:
        records = await poll(consumer, n)
        await consumer.commit({aiokafka.TopicPartition(topic, r["partition"]): r["offset"] + 1 for r in records})
        return records


async def offset_at(topic, partition, time):
    asked = aiokafka.TopicPartition(topic, partition)
    async with consumer_of(None) as consumer:
        found = (await consumer.offsets_for_times({asked: time}))[asked]
    return found.offset if found else -1


async def topics():
    return await administer(lambda a: a.list_topics())


async def partitions_of(topic):
    (found,) = await administer(lambda a: a.describe_topics([topic]))
    return len(found["partitions"])


async def groups():
    return [g[0] for g in await administer(lambda a: a.list_consumer_groups())]


async def group_state(group):
    (found,) = await administer(lambda a: a.describe_consumer_groups([group]))
    check(found.groups[0][0] == 0, found)
    return found.groups[0][2]


async def delete_records(topic, partition, before):
    if not hasattr(AIOKafkaAdminClient, "delete_records"):
        raise Lacking("delete_records is newer")
    asked = aiokafka.TopicPartition(topic, partition)
    return (await administer(lambda a: a.delete_records({asked: aiokafka.admin.RecordsToDelete(before)})))[asked]


async def delete_group(group):
    raise Lacking("cannot delete groups")


async def grow_topic(topic, partitions):
    result = await administer(lambda a: a.create_partitions({topic: NewPartitions(partitions)}))
    check(result.topic_errors[0][1] == 0, result)


def resource(topic, settings=None):
    return ConfigResource(ConfigResourceType.TOPIC, topic, settings)


async def settings(topic):
    return settings_of(await administer(lambda a: a.describe_configs([resource(topic)])))


async def alter_settings(topic, settings):
    raise Lacking("it has AlterConfigs alone")


async def replace_settings(topic, settings):
    ((code, text, *_),) = (await administer(lambda a: a.alter_configs([resource(topic, settings)])))[0].resources
    check(code == 0, text)


calls = [grow_topic, settings, alter_settings, replace_settings] + [create_topic, delete_topic, produce, consume, consume_group, offset_at, topics, partitions_of, groups, group_state, delete_records, delete_group]
by_name = {c.__name__: c for c in calls}
serve(
    {"version": aiokafka.__version__, "codecs": ["none", "gzip", "snappy", "lz4", "zstd"], "idempotent": True, "tells_offset": True},
    lambda name, arguments: asyncio.run(by_name[name](**arguments)),
)

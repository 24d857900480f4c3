# Copyright The iggy-kafka Authors
# SPDX-License-Identifier: Apache-2.0
"""Makes calls with librdkafka through confluent-kafka: calls_librdkafka.py BROKER."""

import sys

import confluent_kafka
from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, ConfigResource, NewPartitions, NewTopic

try:
    from confluent_kafka.admin import AlterConfigOpType, ConfigEntry
except ImportError:
    AlterConfigOpType = None  # it is newer

from calls import CA, CERT, KEY, LIMIT, PASSWORD, PROTOCOL, USER, Lacking, bytes_of, check, headers_of, read, serve

refused = []  # what ended connections: a call itself only says that its time was over


def on_error(error):
    if error.code() in (KafkaError._AUTHENTICATION, KafkaError._SSL):
        refused.append(error)


broker = {"bootstrap.servers": sys.argv[1], "reconnect.backoff.max.ms": 1000, "security.protocol": PROTOCOL, "error_cb": on_error}
if USER:
    broker |= {"sasl.mechanisms": "PLAIN", "sasl.username": USER, "sasl.password": PASSWORD}
if CA:
    broker["ssl.ca.location"] = CA
if CERT:
    broker |= {"ssl.certificate.location": CERT, "ssl.key.location": KEY}
admin = AdminClient(broker)


def done(futures):
    """The one result of an administrator's call."""
    (future,) = futures.values()
    return future.result(LIMIT)


def create_topic(topic, partitions):
    done(admin.create_topics([NewTopic(topic, partitions, 1)]))


def delete_topic(topic):
    done(admin.delete_topics([topic]))


def produce(topic, partition, codec, acks, idempotent, records):
    producer = Producer({**broker, "compression.type": codec, "acks": acks, "enable.idempotence": idempotent, "linger.ms": 5})
    failures, offsets = [], []

    def delivered(error, message):
        if error:
            failures.append(error)
        offsets.append(message.offset())

    for r in records:
        producer.produce(
            topic, bytes_of(r["value"]), bytes_of(r["key"]), partition,
            on_delivery=delivered, timestamp=r["timestamp"], headers=headers_of(r),
        )
    check(producer.flush(LIMIT) == 0, "not all is acknowledged")
    if failures:
        raise KafkaException(failures[0])
    return offsets if acks else None


def poll(consumer, n):
    records = []
    while len(records) < n:
        messages = consumer.consume(1, LIMIT)
        check(messages, f"{len(records)} of {n} records came")
        for m in messages:
            if m.error():
                raise KafkaException(m.error())
            records.append(read(m.partition(), m.offset(), m.timestamp()[1], m.key(), m.value(), m.headers()))
    return records


def consumer_of(group):
    return Consumer({**broker, "group.id": group, "enable.auto.commit": False, "auto.offset.reset": "earliest", "fetch.wait.max.ms": 100})


def consume(topic, partition, offset, n):
    consumer = consumer_of("none")
    consumer.assign([TopicPartition(topic, partition, offset)])
    records = poll(consumer, n)
    consumer.close()
    return records


def consume_group(topic, group, n):
    consumer = consumer_of(group)
    consumer.subscribe([topic])
    records = poll(consumer, n)
    next_offsets = {r["partition"]: r["offset"] + 1 for r in records}
    consumer.commit(offsets=[TopicPartition(topic, p, o) for p, o in next_offsets.items()], asynchronous=False)
    consumer.close()
    return records


def offset_at(topic, partition, time):
    consumer = consumer_of("none")
    (found,) = consumer.offsets_for_times([TopicPartition(topic, partition, time)], LIMIT)
    consumer.close()
    if found.error:
        raise KafkaException(found.error)
    return -1 if found.offset == confluent_kafka.OFFSET_END else found.offset


def topics():
    return list(admin.list_topics(timeout=LIMIT).topics)


def partitions_of(topic):
    return len(admin.list_topics(topic, timeout=LIMIT).topics[topic].partitions)


def groups():
    return [g.id for g in admin.list_groups(timeout=LIMIT)]


def group_state(group):
    if hasattr(AdminClient, "describe_consumer_groups"):
        state = done(admin.describe_consumer_groups([group])).state.name
        return {"STABLE": "Stable", "EMPTY": "Empty"}.get(state, state)
    (found,) = admin.list_groups(group, timeout=LIMIT)
    return found.state


def delete_records(topic, partition, before):
    if not hasattr(AdminClient, "delete_records"):
        raise Lacking("delete_records is newer")
    return done(admin.delete_records([TopicPartition(topic, partition, before)])).low_watermark


def delete_group(group):
    if not hasattr(AdminClient, "delete_consumer_groups"):
        raise Lacking("delete_consumer_groups is newer")
    done(admin.delete_consumer_groups([group]))


def grow_topic(topic, partitions):
    done(admin.create_partitions([NewPartitions(topic, partitions)]))


def settings(topic):
    return {name: entry.value for name, entry in done(admin.describe_configs([ConfigResource(ConfigResource.Type.TOPIC, topic)])).items()}


def alter_settings(topic, settings):
    if not AlterConfigOpType:
        raise Lacking("incremental_alter_configs is newer")
    entries = [ConfigEntry(name, value, incremental_operation=AlterConfigOpType.SET) for name, value in settings.items()]
    done(admin.incremental_alter_configs([ConfigResource(ConfigResource.Type.TOPIC, topic, incremental_configs=entries)]))


def replace_settings(topic, settings):
    done(admin.alter_configs([ConfigResource(ConfigResource.Type.TOPIC, topic, set_config=settings)]))


calls = [grow_topic, settings, alter_settings, replace_settings] + [create_topic, delete_topic, produce, consume, consume_group, offset_at, topics, partitions_of, groups, group_state, delete_records, delete_group]
by_name = {c.__name__: c for c in calls}


def run(name, arguments):
    try:
        return by_name[name](**arguments)
    except KafkaException:
        admin.poll(0)
        if refused:
            raise KafkaException(refused[0]) from None
        raise


serve(
    {
        "version": f"{confluent_kafka.__version__}, librdkafka {confluent_kafka.libversion()[0]}",
        "codecs": ["none", "gzip", "snappy", "lz4", "zstd"],
        "idempotent": True,
        "tells_offset": True,
    },
    run,
)

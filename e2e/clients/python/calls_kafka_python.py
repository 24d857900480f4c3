# Copyright The iggy-kafka Authors
# SPDX-License-Identifier: Apache-2.0
"""Makes calls with kafka-python, of releases from 1.4 on: calls_kafka_python.py BROKER."""

import inspect
import sys

import kafka
import kafka.codec
from kafka import KafkaConsumer, KafkaProducer, OffsetAndMetadata, TopicPartition
from kafka.errors import for_code

from calls import LIMIT, Lacking, bytes_of, check, headers_of, read, serve, settings_of

try:
    from kafka.admin import KafkaAdminClient as Admin
    from kafka.admin import ConfigResource, ConfigResourceType, NewPartitions, NewTopic
except ImportError:
    Admin = None

broker = {"bootstrap_servers": sys.argv[1]}
idempotent_by_choice = "enable_idempotence" in KafkaProducer.DEFAULT_CONFIG
with_headers = "headers" in inspect.signature(KafkaProducer.send).parameters
codecs = ["none", "gzip", "snappy", "lz4"] + (["zstd"] if hasattr(kafka.codec, "has_zstd") else [])


def administer(call):
    if not Admin:
        raise Lacking("has no administrator")
    admin = Admin(**broker)
    try:
        return call(admin)
    finally:
        admin.close()


def create_topic(topic, partitions):
    administer(lambda a: a.create_topics([NewTopic(topic, partitions, 1)]))


def delete_topic(topic):
    administer(lambda a: a.delete_topics([topic]))


def produce(topic, partition, codec, acks, idempotent, records):
    settings = {"enable_idempotence": idempotent} if idempotent_by_choice else {}
    producer = KafkaProducer(**broker, compression_type=None if codec == "none" else codec, acks="all" if acks == -1 else acks, linger_ms=5, **settings)
    sent = [
        producer.send(
            topic, bytes_of(r["value"]), bytes_of(r["key"]), partition=partition, timestamp_ms=r["timestamp"],
            **({"headers": headers_of(r)} if with_headers else {})
        )
        for r in records
    ]
    offsets = [s.get(LIMIT).offset for s in sent]
    producer.close()
    return offsets if acks else None


def poll(consumer, n):
    records = []
    while len(records) < n:
        # A short poll may lose the assignment in 3.0: wait for longer than joining takes.
        polled = consumer.poll(timeout_ms=LIMIT * 1000, max_records=n - len(records))
        check(polled, f"{len(records)} of {n} records came")
        for batch in polled.values():
            records += [read(r.partition, r.offset, r.timestamp, r.key, r.value, getattr(r, "headers", None)) for r in batch]
    return records


def consumer_of(group, *topics):
    return KafkaConsumer(*topics, **broker, group_id=group, enable_auto_commit=False, auto_offset_reset="earliest", fetch_max_wait_ms=100)


def committed(offset):
    return OffsetAndMetadata(offset, "", -1) if len(OffsetAndMetadata._fields) == 3 else OffsetAndMetadata(offset, "")


def consume(topic, partition, offset, n):
    consumer = consumer_of(None)
    consumer.assign([TopicPartition(topic, partition)])
    consumer.seek(TopicPartition(topic, partition), offset)
    records = poll(consumer, n)
    consumer.close()
    return records


def consume_group(topic, group, n):
    consumer = consumer_of(group, topic)
    records = poll(consumer, n)
    consumer.commit({TopicPartition(topic, r["partition"]): committed(r["offset"] + 1) for r in records})
    consumer.close()
    return records


def offset_at(topic, partition, time):
    consumer = consumer_of(None)
    found = consumer.offsets_for_times({TopicPartition(topic, partition): time})[TopicPartition(topic, partition)]
    consumer.close()
    return found.offset if found else -1


def topics():
    consumer = consumer_of(None)
    found = consumer.topics()
    consumer.close()
    return list(found)


def partitions_of(topic):
    consumer = consumer_of(None)
    found = consumer.partitions_for_topic(topic)
    consumer.close()
    return len(found)


def groups():
    list_groups = getattr(Admin, "list_groups", None) or getattr(Admin, "list_consumer_groups", None)
    if not list_groups:
        raise Lacking("list_consumer_groups is newer")
    return [g["group_id"] if isinstance(g, dict) else g[0] for g in administer(list_groups)]


def group_state(group):
    if hasattr(Admin, "describe_groups"):
        found = administer(lambda a: a.describe_groups([group]))[group]
        check(not found["error"], found["error"])
        return found["group_state"]
    (found,) = administer(lambda a: a.describe_consumer_groups([group]))
    if hasattr(found, "state"):
        return found.state
    return found.groups[0][2]  # of the answer as it came: error, group, state...


def delete_records(topic, partition, before):
    if not hasattr(Admin, "delete_records"):
        raise Lacking("delete_records is newer")
    found = administer(lambda a: a.delete_records({TopicPartition(topic, partition): before}))[TopicPartition(topic, partition)]
    return found["low_watermark"] if isinstance(found, dict) else found


def delete_group(group):
    if hasattr(Admin, "delete_groups"):
        result = administer(lambda a: a.delete_groups([group]))[group]
        check(result == "OK", result)
    elif hasattr(Admin, "delete_consumer_groups"):
        ((_, error),) = administer(lambda a: a.delete_consumer_groups([group]))
        check(error.errno == 0, error)
    else:
        raise Lacking("delete_consumer_groups is newer")


def grow_topic(topic, partitions):
    administer(lambda a: a.create_partitions({topic: NewPartitions(partitions)}))


def resource(topic, settings=None):
    return ConfigResource(ConfigResourceType.TOPIC, topic, settings)


# What a topic's settings are asked for by; releases before 3.0 return answers as they came.
newest = hasattr(Admin, "list_config_resources")


def settings(topic):
    if not newest:
        return settings_of(administer(lambda a: a.describe_configs([resource(topic)])))
    found = administer(lambda a: a.describe_configs([resource(topic)], config_filter="all"))
    return {name: setting["value"] for name, setting in found["topic"][topic].items()}


def alter_settings(topic, settings):
    if not newest:
        raise Lacking("it has AlterConfigs alone")
    found = administer(lambda a: a.alter_configs([resource(topic, settings)]))["topic"][topic]
    check(found == "OK", found)


def replace_settings(topic, settings):
    if newest:
        raise Lacking("it would name the other settings, too")
    ((code, text, *_),) = administer(lambda a: a.alter_configs([resource(topic, settings)])).resources
    check(code == 0, text)


calls = [grow_topic, settings, alter_settings, replace_settings] + [create_topic, delete_topic, produce, consume, consume_group, offset_at, topics, partitions_of, groups, group_state, delete_records, delete_group]
by_name = {c.__name__: c for c in calls}
serve(
    {"version": kafka.__version__, "codecs": codecs, "idempotent": idempotent_by_choice, "tells_offset": True, "headerless": not with_headers},
    lambda name, arguments: by_name[name](**arguments),
)

# Copyright The iggy-kafka Authors
# SPDX-License-Identifier: Apache-2.0

"""Writes the lines of the standard input as an idempotent producer, in batches of a few: producer.py CONFIG."""

import asyncio
import json
import sys

config = json.loads(sys.argv[1])
lines = [line.rstrip("\n").encode() for line in sys.stdin]


def librdkafka():
    from confluent_kafka import Producer

    failed = []
    producer = Producer({
        "bootstrap.servers": config["broker"], "enable.idempotence": True, "batch.num.messages": 20,
        "retry.backoff.ms": 20, "reconnect.backoff.ms": 20, "reconnect.backoff.max.ms": 20, "linger.ms": 5,
    })
    for line in lines:
        producer.produce(config["topic"], line, partition=0, on_delivery=lambda error, _: failed.append(error) if error else None)
    if producer.flush(60) or failed:
        sys.exit(f"not delivered: {failed}")


def kafka_python():
    from kafka import KafkaProducer

    producer = KafkaProducer(
        bootstrap_servers=config["broker"], enable_idempotence=True, batch_size=1200,
        retry_backoff_ms=20, reconnect_backoff_ms=20, reconnect_backoff_max_ms=20, linger_ms=5,
    )
    sent = [producer.send(config["topic"], line, partition=0) for line in lines]
    for future in sent:
        future.get(60)
    producer.close(5)


def aio_kafka():
    from aiokafka import AIOKafkaProducer

    async def run():
        producer = AIOKafkaProducer(
            bootstrap_servers=config["broker"], enable_idempotence=True, max_batch_size=1200, retry_backoff_ms=20, linger_ms=5)
        await producer.start()
        try:
            for future in [await producer.send(config["topic"], line, partition=0) for line in lines]:
                await future
        finally:
            await producer.stop()

    asyncio.run(run())


{"librdkafka": librdkafka, "kafka_python": kafka_python, "aio_kafka": aio_kafka}[config["client"]]()

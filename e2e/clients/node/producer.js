// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

// Writes the lines of the standard input with kafkajs as an idempotent producer, twenty at a time.

const fs = require('fs')
const { Kafka, logLevel } = require('kafkajs')

const config = JSON.parse(process.argv[2])
const lines = fs.readFileSync(0, 'utf8').trimEnd().split('\n')

const kafka = new Kafka({
  brokers: [config.broker],
  logLevel: logLevel.NOTHING,
  retry: { initialRetryTime: 20, maxRetryTime: 200, retries: 60 },
})
const producer = kafka.producer({ idempotent: true, maxInFlightRequests: 1 })

async function run() {
  await producer.connect()
  for (let i = 0; i < lines.length; i += 20) {
    const messages = lines.slice(i, i + 20).map(value => ({ value, partition: 0 }))
    await producer.send({ topic: config.topic, messages })
  }
  await producer.disconnect()
}

run().catch(error => {
  console.error(error)
  process.exit(1)
})

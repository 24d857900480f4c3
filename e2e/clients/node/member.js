// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

// A member of a consumer group that uses kafkajs.

const fs = require('fs')
const { Kafka, logLevel } = require('kafkajs')

const config = JSON.parse(process.argv[2])
const emit = (event, fields) => fs.writeSync(1, JSON.stringify({ event, ...fields }) + '\n')

const kafka = new Kafka({
  brokers: [config.broker],
  logLevel: logLevel.WARN,
  logCreator: () => ({ log }) => process.stderr.write(JSON.stringify(log) + '\n'),
  retry: { maxRetryTime: 1000, retries: 60 },
})
const consumer = kafka.consumer({
  groupId: config.group,
  sessionTimeout: config.session_timeout_ms,
  heartbeatInterval: config.heartbeat_ms,
  maxWaitTimeInMs: 200,
})

let assigned = []
const revoke = () => {
  if (assigned.length > 0) emit('revoked', { partitions: assigned })
  assigned = []
}
consumer.on(consumer.events.GROUP_JOIN, ({ payload }) => {
  revoke() // there may have been no REBALANCING
  assigned = payload.memberAssignment[config.topic] || []
  emit('assigned', { partitions: assigned })
})
consumer.on(consumer.events.REBALANCING, revoke)
consumer.on(consumer.events.CRASH, ({ payload }) => {
  emit('error', { error: String(payload.error) })
  revoke()
})

const eachBatch = async ({ batch, heartbeat, resolveOffset, commitOffsetsIfNecessary, isStale }) => {
  if (isStale()) return
  for (const { offset, value } of batch.messages) {
    emit('record', { partition: batch.partition, offset: Number(offset), value: value.toString() })
    resolveOffset(offset)
  }
  const next = Number(batch.lastOffset()) + 1
  await commitOffsetsIfNecessary({
    topics: [{ topic: batch.topic, partitions: [{ partition: batch.partition, offset: String(next) }] }],
  })
  emit('committed', { offsets: { [batch.partition]: next } })
  await heartbeat()
}

const main = async () => {
  emit('started', { version: require('kafkajs/package.json').version })
  await consumer.connect()
  await consumer.subscribe({ topics: [config.topic], fromBeginning: true })
  await consumer.run({ autoCommit: false, eachBatch })
}

process.on('SIGTERM', async () => {
  await consumer.disconnect()
  revoke()
  emit('closed', {})
  process.exit(0)
})
main().catch(error => {
  process.stderr.write(`${error.stack}\n`)
  process.exit(1)
})

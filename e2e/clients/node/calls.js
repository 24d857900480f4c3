// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

// Makes calls with kafkajs, of releases from 1.5 on: calls.js PACKAGE BROKER. See Program in the package clients for what
// it reads and prints.

const fs = require('fs')
const readline = require('readline')

const library = process.argv[2]
const { Kafka, CompressionCodecs, CompressionTypes, logLevel } = require(library)
CompressionCodecs[CompressionTypes.Snappy] = require('kafkajs-snappy')

// How to say who one is, and whom to believe; empty: not at all.
const { SASL_USER, SASL_PASSWORD, TLS_CA, TLS_CERT, TLS_KEY } = process.env
const file = path => (path ? fs.readFileSync(path) : undefined)

const kafka = new Kafka({
  brokers: [process.argv[3]],
  clientId: 'kafkajs',
  logLevel: logLevel.ERROR,
  sasl: SASL_USER ? { mechanism: 'plain', username: SASL_USER, password: SASL_PASSWORD } : undefined,
  ssl: TLS_CA ? { ca: file(TLS_CA), cert: file(TLS_CERT), key: file(TLS_KEY) } : undefined,
})
const codecs = { none: CompressionTypes.None, gzip: CompressionTypes.GZIP, snappy: CompressionTypes.Snappy }

const topicResource = 2 // AlterConfigs and DescribeConfigs' number for topics, which has no name in old releases

const fromText = text => (text === null ? null : Buffer.from(text, 'base64'))
const toText = bytes => (bytes === null || bytes === undefined ? null : bytes.toString('base64'))

class Lacking extends Error {}

// administer calls methods one after the other and returns what the last one does.
const administer = async (...steps) => {
  const admin = kafka.admin()
  for (const [method] of steps) if (!admin[method]) throw new Lacking(`${method} is newer`)
  await admin.connect()
  try {
    let result
    for (const [method, ...args] of steps) result = await admin[method](...args)
    return result
  } finally {
    await admin.disconnect()
  }
}

// consumeFrom takes n records, of one partition if that is given. What it takes is resolved, and committed when its batch
// is done.
const consumeFrom = async ({ group, topic, partition, offset, n }) => {
  const consumer = kafka.consumer({ groupId: group, maxWaitTimeInMs: 100 })
  const records = []
  await consumer.connect()
  try {
    await consumer.subscribe({ topic, fromBeginning: true })
    await new Promise((resolve, reject) => {
      const late = setTimeout(() => reject(new Error(`${records.length} of ${n} records came`)), 10000)
      const eachBatch = async ({ batch, resolveOffset, heartbeat }) => {
        for (const m of batch.messages) {
          if (records.length === n) break
          if (partition !== undefined && (batch.partition !== partition || Number(m.offset) < offset)) continue
          records.push({
            partition: batch.partition,
            offset: Number(m.offset),
            timestamp: Number(m.timestamp),
            key: toText(m.key),
            value: toText(m.value),
            headers: Object.entries(m.headers || {}).map(([name, value]) => ({ name, value: toText(value) })),
          })
          resolveOffset(m.offset)
        }
        await heartbeat()
        if (records.length === n) {
          clearTimeout(late)
          resolve()
        }
      }
      consumer.run({ eachBatchAutoResolve: false, eachBatch }).catch(reject)
      if (partition !== undefined) consumer.seek({ topic, partition, offset: String(offset) })
    })
  } finally {
    await consumer.disconnect() // once the batch under way is done
  }
  return records
}

const calls = {
  create_topic: async ({ topic, partitions }) => {
    const created = await administer(['createTopics', { topics: [{ topic, numPartitions: partitions, replicationFactor: 1 }] }])
    if (!created) throw new Error('the topic exists')
  },
  delete_topic: ({ topic }) => administer(['deleteTopics', { topics: [topic] }]),
  produce: async ({ topic, partition, codec, acks, idempotent, records }) => {
    const producer = kafka.producer({ idempotent })
    await producer.connect()
    const messages = records.map(r => ({
      partition,
      timestamp: String(r.timestamp),
      key: fromText(r.key),
      value: fromText(r.value),
      headers: Object.fromEntries((r.headers || []).map(h => [h.name, fromText(h.value)])),
    }))
    const answers = await producer.send({ topic, acks, compression: codecs[codec], messages })
    await producer.disconnect()
    return acks === 0 ? null : records.map((_, i) => Number(answers[0].baseOffset || answers[0].offset) + i)
  },
  consume: ({ topic, partition, offset, n }) => consumeFrom({ group: `${topic}-none`, topic, partition, offset, n }),
  consume_group: consumeFrom,
  offset_at: async ({ topic, partition, time }) => {
    const found = await administer(['fetchTopicOffsetsByTimestamp', topic, time])
    return Number(found.find(p => p.partition === partition).offset)
  },
  topics: () => administer(['listTopics']),
  partitions_of: async ({ topic }) => (await administer(['fetchTopicMetadata', { topics: [topic] }])).topics[0].partitions.length,
  groups: async () => (await administer(['listGroups'])).groups.map(g => g.groupId),
  group_state: async ({ group }) => (await administer(['describeGroups', [group]])).groups[0].state,
  delete_records: async ({ topic, partition, before }) => {
    // It knows of topics only what it was asked for before.
    await administer(['fetchTopicOffsets', topic], ['deleteTopicRecords', { topic, partitions: [{ partition, offset: String(before) }] }])
    return before // it is not told
  },
  delete_group: ({ group }) => administer(['deleteGroups', [group]]),
  grow_topic: ({ topic, partitions }) => administer(['createPartitions', { topicPartitions: [{ topic, count: partitions }] }]),
  settings: async ({ topic }) => {
    const found = await administer(['describeConfigs', { resources: [{ type: topicResource, name: topic }], includeSynonyms: false }])
    return Object.fromEntries(found.resources[0].configEntries.map(e => [e.configName, e.configValue]))
  },
  alter_settings: () => {
    throw new Lacking('it has AlterConfigs alone')
  },
  replace_settings: ({ topic, settings }) => {
    const configEntries = Object.entries(settings).map(([name, value]) => ({ name, value }))
    return administer(['alterConfigs', { validateOnly: false, resources: [{ type: topicResource, name: topic, configEntries }] }])
  },
}

const answer = async ({ call, ...args }) => {
  try {
    return { result: (await calls[call](args)) ?? null }
  } catch (error) {
    process.stderr.write(`${error.stack}\n`)
    return error instanceof Lacking ? { lacks: error.message } : { error: String(error) }
  }
}

const print = line => fs.writeSync(1, JSON.stringify(line) + '\n')

const main = async () => {
  const { version } = require(`${library}/package.json`)
  print({ version, codecs: Object.keys(codecs), idempotent: true, tells_offset: true })
  for await (const line of readline.createInterface({ input: process.stdin })) print(await answer(JSON.parse(line)))
}

main().catch(error => {
  process.stderr.write(`${error.stack}\n`)
  process.exit(1)
})

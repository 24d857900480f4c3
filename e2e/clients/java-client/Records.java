// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.stream.Collectors;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.header.internals.RecordHeader;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;

/** Takes the producer, and the consumer without a group's help, through what they can: Records BOOTSTRAP TOPIC. */
final class Records {
  private static final int PARTITIONS = 3;
  private static final int PER_CODEC = 100; // in each partition
  private static final long FIRST_TIME = 1_700_000_000_000L;
  private static final List<String> CODECS = List.of("none", "gzip", "snappy", "lz4", "zstd");

  private final String bootstrap;
  private final String topic;

  private Records(String bootstrap, String topic) {
    this.bootstrap = bootstrap;
    this.topic = topic;
  }

  public static void main(String[] args) throws Exception {
    Records records = new Records(args[0], args[1]);
    try (Admin admin = Admin.create(Map.of("bootstrap.servers", args[0]))) {
      admin.createTopics(List.of(new NewTopic(args[1], Optional.of(PARTITIONS), Optional.empty()))).all().get();
    }
    records.produce();
    records.consume();
    records.reset();
  }

  private KafkaProducer<String, String> producer(Map<String, Object> settings) {
    Map<String, Object> config = new TreeMap<>(settings);
    config.put("bootstrap.servers", bootstrap);
    return new KafkaProducer<>(config, new StringSerializer(), new StringSerializer());
  }

  private KafkaConsumer<String, String> consumer(Map<String, Object> settings) {
    Map<String, Object> config = new TreeMap<>(settings);
    config.put("bootstrap.servers", bootstrap);
    return new KafkaConsumer<>(config, new StringDeserializer(), new StringDeserializer());
  }

  /** Writes PER_CODEC records to each partition with each codec, all else as it is by default: idempotent. */
  private void produce() {
    for (String codec : CODECS) {
      Steps.step("produce with " + codec, () -> {
        List<Future<RecordMetadata>> sent = new ArrayList<>();
        try (KafkaProducer<String, String> producer = producer(Map.of("compression.type", codec))) {
          for (int i = 0; i < PARTITIONS * PER_CODEC; i++) {
            sent.add(producer.send(record(codec, i)));
          }
        }
        Map<Integer, List<Long>> offsets = new TreeMap<>();
        for (Future<RecordMetadata> one : sent) {
          offsets.computeIfAbsent(one.get().partition(), partition -> new ArrayList<>()).add(one.get().offset());
        }
        return offsets.values().stream().map(all -> all.size() + " from " + all.get(0) + " to " + all.get(all.size() - 1)).collect(Collectors.joining(", "));
      });
    }
    Steps.step("produce without acknowledgement", () -> {
      try (KafkaProducer<String, String> producer = producer(Map.of("acks", "0", "enable.idempotence", false))) {
        return producer.send(record("none", 0)).get().hasOffset();
      }
    });
    Steps.step("produce too large a record", () -> {
      try (KafkaProducer<String, String> producer = producer(Map.of("max.request.size", 10 << 20))) {
        return producer.send(new ProducerRecord<>(topic, "x".repeat(2 << 20))).get();
      }
    });
    Steps.step("produce to a missing topic", () -> {
      try (KafkaProducer<String, String> producer = producer(Map.of("max.block.ms", 2000))) {
        return producer.send(new ProducerRecord<>(topic + "-missing", "x")).get();
      }
    });
    Steps.step("partitions", () -> {
      try (KafkaProducer<String, String> producer = producer(Map.of())) {
        return producer.partitionsFor(topic).size();
      }
    });
    Steps.step("transactions", () -> {
      try (KafkaProducer<String, String> producer = producer(Map.of("transactional.id", topic, "max.block.ms", 10_000))) {
        producer.initTransactions();
        return "begun";
      }
    });
  }

  private ProducerRecord<String, String> record(String codec, int i) {
    return new ProducerRecord<>(topic, i % PARTITIONS, FIRST_TIME + i, i % 7 == 6 ? null : "key " + i, i % 10 == 9 ? null : codec + " " + i,
        List.of(new RecordHeader("codec", codec.getBytes(StandardCharsets.UTF_8)), new RecordHeader("empty", new byte[0]), new RecordHeader("null", null)));
  }

  private void consume() {
    TopicPartition last = new TopicPartition(topic, PARTITIONS - 1);
    try (KafkaConsumer<String, String> consumer = consumer(Map.of("group.id", topic, "enable.auto.commit", false, "auto.offset.reset", "earliest"))) {
      consumer.assign(List.of(last));
      Steps.step("everything", () -> {
        List<ConsumerRecord<String, String>> read = read(consumer, CODECS.size() * PER_CODEC);
        for (int n = 0; n < read.size(); n++) {
          String codec = CODECS.get(n / PER_CODEC);
          ProducerRecord<String, String> written = record(codec, n % PER_CODEC * PARTITIONS + PARTITIONS - 1);
          ConsumerRecord<String, String> got = read.get(n);
          ProducerRecord<String, String> same = new ProducerRecord<>(got.topic(), got.partition(), got.timestamp(), got.key(), got.value(), got.headers());
          if (got.offset() != n || !same.equals(written)) {
            return got + " instead of " + written;
          }
        }
        return read.size() + " records as they were written";
      });
      Steps.step("position", () -> consumer.position(last));
      Steps.step("lag", () -> consumer.currentLag(last));
      Steps.step("begin and end", () -> consumer.beginningOffsets(List.of(last)).get(last) + " " + consumer.endOffsets(List.of(last)).get(last));
      Steps.step("offset of a time", () -> consumer.offsetsForTimes(Map.of(last, FIRST_TIME + 100)).get(last));
      Steps.step("offset of a later time", () -> consumer.offsetsForTimes(Map.of(last, FIRST_TIME + 1_000_000)).get(last));
      for (Map.Entry<String, Consumer<KafkaConsumer<String, String>>> seek : List.<Map.Entry<String, Consumer<KafkaConsumer<String, String>>>>of(
          Map.entry("middle of a batch", c -> c.seek(last, 250)),
          Map.entry("end", c -> c.seekToEnd(List.of(last))),
          Map.entry("begin", c -> c.seekToBeginning(List.of(last))))) {
        Steps.step("seek to the " + seek.getKey(), () -> {
          seek.getValue().accept(consumer);
          return consumer.position(last) + (seek.getKey().equals("end") ? "" : ", " + read(consumer, 1).get(0).value());
        });
      }
      Steps.step("paused", () -> {
        consumer.pause(List.of(last));
        int none = consumer.poll(Duration.ofMillis(200)).count();
        consumer.resume(List.of(last));
        return none;
      });
      Steps.step("committed before", () -> consumer.committed(Set.of(last)).get(last));
      Steps.step("committed", () -> {
        consumer.commitSync(Map.of(last, new OffsetAndMetadata(123, "note")));
        OffsetAndMetadata committed = consumer.committed(Set.of(last)).get(last);
        return committed.offset() + " " + committed.metadata();
      });
      Steps.step("listed", () -> consumer.listTopics().get(topic).size());
    }
    Steps.step("a group's next consumer", () -> {
      try (KafkaConsumer<String, String> consumer = consumer(Map.of("group.id", topic, "isolation.level", "read_committed"))) {
        consumer.assign(List.of(last));
        return read(consumer, 1).get(0).offset();
      }
    });
  }

  /** Tells what a consumer does that has no offset, or one that is out of range. */
  private void reset() {
    TopicPartition first = new TopicPartition(topic, 0);
    Steps.step("no offset and no reset", () -> {
      try (KafkaConsumer<String, String> consumer = consumer(Map.of("group.id", topic + "-none", "auto.offset.reset", "none"))) {
        consumer.assign(List.of(first));
        return consumer.poll(Duration.ofSeconds(10)).count();
      }
    });
    for (String reset : List.of("none", "earliest", "latest")) {
      Steps.step("out of range, reset " + reset, () -> {
        try (KafkaConsumer<String, String> consumer = consumer(Map.of("group.id", topic + "-" + reset, "auto.offset.reset", reset))) {
          consumer.assign(List.of(first));
          consumer.seek(first, 1_000_000);
          long until = System.nanoTime() + TimeUnit.SECONDS.toNanos(10);
          while (consumer.position(first) == 1_000_000 && System.nanoTime() < until) {
            consumer.poll(Duration.ofMillis(100));
          }
          return reset.equals("latest") ? consumer.position(first) : "read on";
        }
      });
    }
    Steps.step("reset by duration", () -> {
      try (KafkaConsumer<String, String> consumer = consumer(Map.of("group.id", topic + "-duration", "auto.offset.reset", "by_duration:P10000D"))) {
        consumer.assign(List.of(first));
        return read(consumer, 1).get(0).offset();
      }
    });
  }

  /** Reads n records or more, or fails after ten seconds. */
  private static List<ConsumerRecord<String, String>> read(KafkaConsumer<String, String> consumer, int n) {
    List<ConsumerRecord<String, String>> all = new ArrayList<>();
    long until = System.nanoTime() + TimeUnit.SECONDS.toNanos(10);
    while (all.size() < n) {
      consumer.poll(Duration.ofMillis(500)).forEach(all::add);
      if (System.nanoTime() > until) {
        throw new IllegalStateException("read " + all.size() + " of " + n);
      }
    }
    return all.subList(0, n);
  }
}

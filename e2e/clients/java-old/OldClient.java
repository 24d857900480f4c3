// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.Future;
import org.apache.kafka.clients.admin.AdminClient;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;

/**
 * Takes the oldest client of Kafka's own that a broker of version 4.1 serves through what it can: OldClient BOOTSTRAP
 * TOPIC. It prints what it comes to, the same each time; TOPIC is made, used and deleted.
 */
final class OldClient {
  private static final int PER_CODEC = 50;
  private static final List<String> CODECS = Arrays.asList("none", "gzip", "snappy", "lz4");

  private final String bootstrap;
  private final String topic;

  private OldClient(String bootstrap, String topic) {
    this.bootstrap = bootstrap;
    this.topic = topic;
  }

  public static void main(String[] args) throws Exception {
    OldClient client = new OldClient(args[0], args[1]);
    client.create();
    client.produce();
    client.seek();
    client.consume("first", 120);
    client.consume("second", CODECS.size() * PER_CODEC * 2 - 120);
    client.delete();
  }

  private Properties config() {
    Properties p = new Properties();
    p.put("bootstrap.servers", bootstrap);
    return p;
  }

  private void create() throws Exception {
    try (AdminClient admin = AdminClient.create(config())) {
      System.out.println("nodes: " + admin.describeCluster().nodes().get().size());
      admin.createTopics(Collections.singleton(new NewTopic(topic, 2, (short) 1))).all().get();
      awaitListed(admin, true);
      System.out.println("partitions: " + admin.describeTopics(Collections.singleton(topic)).all().get().get(topic).partitions().size());
    }
  }

  /** Waits, for at most ten seconds: a broker's view of the topics is a little behind its controller's. */
  private void awaitListed(AdminClient admin, boolean expected) throws Exception {
    boolean listed = !expected;
    for (int i = 0; i < 100 && listed != expected; i++) {
      listed = admin.listTopics().names().get().contains(topic);
      Thread.sleep(listed == expected ? 0 : 100);
    }
    System.out.println("listed: " + listed);
  }

  /** Writes with each codec to both partitions, idempotent and not. */
  private void produce() throws Exception {
    for (String codec : CODECS) {
      Properties p = config();
      p.put("compression.type", codec);
      p.put("enable.idempotence", Boolean.toString(codec.equals("gzip")));
      p.put("acks", "all");
      p.put("linger.ms", "5");
      try (KafkaProducer<String, String> producer = new KafkaProducer<>(p, new StringSerializer(), new StringSerializer())) {
        List<Future<RecordMetadata>> sent = new ArrayList<>();
        for (int i = 0; i < 2 * PER_CODEC; i++) {
          ProducerRecord<String, String> record = new ProducerRecord<>(topic, i % 2, 1_500_000_000_000L + i, "key " + i, i % 10 == 3 ? null : codec + " " + i);
          record.headers().add("codec", codec.getBytes("UTF-8"));
          sent.add(producer.send(record));
        }
        Map<Integer, TreeSet<Long>> offsets = new TreeMap<>();
        for (Future<RecordMetadata> one : sent) {
          offsets.computeIfAbsent(one.get().partition(), partition -> new TreeSet<>()).add(one.get().offset());
        }
        offsets.forEach((partition, all) ->
            System.out.println(codec + ": partition " + partition + ", " + all.size() + " records, offsets " + all.first() + " to " + all.last()));
      }
    }
  }

  private void seek() {
    TopicPartition partition = new TopicPartition(topic, 1);
    try (KafkaConsumer<String, String> consumer = new KafkaConsumer<>(config(), new StringDeserializer(), new StringDeserializer())) {
      consumer.assign(Collections.singleton(partition));
      System.out.println("begins at " + consumer.beginningOffsets(Collections.singleton(partition)).get(partition)
          + ", ends at " + consumer.endOffsets(Collections.singleton(partition)).get(partition)
          + ", at a time " + consumer.offsetsForTimes(Collections.singletonMap(partition, 1_500_000_000_051L)).get(partition));
      consumer.seek(partition, 2 * PER_CODEC + 7);
      ConsumerRecord<String, String> record = null;
      while (record == null) {
        for (ConsumerRecord<String, String> read : consumer.poll(1000)) {
          record = record == null ? read : record;
        }
      }
      Header header = record.headers().lastHeader("codec");
      System.out.println("at " + record.offset() + ": " + record.key() + " = " + record.value() + " at " + record.timestamp() + ", " + header.key() + " " + new String(header.value()));
    }
  }

  /** Reads so many records as the group's only member and commits them. */
  private void consume(String member, int n) {
    Properties p = config();
    p.put("group.id", topic);
    p.put("auto.offset.reset", "earliest");
    p.put("enable.auto.commit", "false");
    Map<TopicPartition, OffsetAndMetadata> next = new HashMap<>();
    try (KafkaConsumer<String, String> consumer = new KafkaConsumer<>(p, new StringDeserializer(), new StringDeserializer())) {
      consumer.subscribe(Collections.singleton(topic));
      for (int count = 0; count < n; ) {
        for (ConsumerRecord<String, String> record : consumer.poll(1000)) {
          if (count++ == n) {
            break;
          }
          TopicPartition partition = new TopicPartition(record.topic(), record.partition());
          OffsetAndMetadata expected = next.put(partition, new OffsetAndMetadata(record.offset() + 1));
          if (expected != null && expected.offset() != record.offset()) {
            throw new IllegalStateException("after " + (expected.offset() - 1) + " comes " + record.offset());
          }
        }
        consumer.commitSync(next);
      }
      long committed = 0;
      for (int partition = 0; partition < 2; partition++) {
        OffsetAndMetadata offset = consumer.committed(new TopicPartition(topic, partition));
        committed += offset == null ? 0 : offset.offset();
      }
      System.out.println(member + " member: " + n + " records, committed up to " + committed);
    }
  }

  private void delete() throws Exception {
    try (AdminClient admin = AdminClient.create(config())) {
      admin.deleteTopics(Collections.singleton(topic)).all().get();
      awaitListed(admin, false);
    }
  }
}

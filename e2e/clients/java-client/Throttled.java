// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.Future;
import java.util.stream.Collectors;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.consumer.ConsumerRebalanceListener;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.Metric;
import org.apache.kafka.common.MetricName;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.quota.ClientQuotaAlteration;
import org.apache.kafka.common.quota.ClientQuotaEntity;
import org.apache.kafka.common.quota.ClientQuotaFilter;
import org.apache.kafka.common.quota.ClientQuotaFilterComponent;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/** Writes and reads more than a quota allows at once, and is made to wait: Throttled BOOTSTRAP NAME. */
final class Throttled {
  private static final double RATE = 100_000; // bytes per second
  private static final int RECORDS = 600;
  private static final int SIZE = 2_000; // bytes; in all 12 seconds' worth, of which 10 come at once

  private Throttled() {}

  public static void main(String[] args) throws Exception {
    String bootstrap = args[0];
    String name = args[1]; // of the topic, the group and the clients
    ClientQuotaEntity entity = new ClientQuotaEntity(Map.of(ClientQuotaEntity.CLIENT_ID, name));
    try (Admin admin = Admin.create(Map.of("bootstrap.servers", bootstrap))) {
      admin.createTopics(List.of(new NewTopic(name, Optional.of(1), Optional.empty()))).all().get();
      Steps.step("set", () -> {
        alter(admin, entity, RATE);
        while (!rates(admin, entity).equals(Map.of("consumer_byte_rate", RATE, "producer_byte_rate", RATE))) {
          Thread.sleep(10); // a broker takes a moment
        }
        return "set";
      });
      Steps.step("produce", () -> produce(bootstrap, name));
      Steps.step("consume", () -> consume(bootstrap, name));
      Steps.step("remove", () -> {
        alter(admin, entity, null);
        while (!rates(admin, entity).isEmpty()) {
          Thread.sleep(10);
        }
        return "removed";
      });
    }
  }

  private static void alter(Admin admin, ClientQuotaEntity entity, Double rate) throws Exception {
    List<ClientQuotaAlteration.Op> ops = List.of(
        new ClientQuotaAlteration.Op("producer_byte_rate", rate), new ClientQuotaAlteration.Op("consumer_byte_rate", rate));
    admin.alterClientQuotas(List.of(new ClientQuotaAlteration(entity, ops))).all().get();
  }

  private static Map<String, Double> rates(Admin admin, ClientQuotaEntity entity) throws Exception {
    ClientQuotaFilter filter = ClientQuotaFilter.containsOnly(List.of(
        ClientQuotaFilterComponent.ofEntity(ClientQuotaEntity.CLIENT_ID, entity.entries().get(ClientQuotaEntity.CLIENT_ID))));
    return admin.describeClientQuotas(filter).entities().get().getOrDefault(entity, Map.of());
  }

  private static String produce(String bootstrap, String name) throws Exception {
    List<Future<RecordMetadata>> sent = new ArrayList<>();
    Map<String, Object> config = Map.of("bootstrap.servers", bootstrap, "client.id", name);
    try (KafkaProducer<byte[], byte[]> producer = new KafkaProducer<>(config, new ByteArraySerializer(), new ByteArraySerializer())) {
      for (int i = 0; i < RECORDS; i++) {
        sent.add(producer.send(new ProducerRecord<>(name, new byte[SIZE])));
      }
      producer.flush();
      long last = sent.get(RECORDS - 1).get().offset();
      return "the last one at " + last + ", throttled: " + wasThrottled(producer.metrics(), "produce-throttle-time-max");
    }
  }

  /** Reads in a group, whose heartbeats go over a connection of their own: nobody is lost from it. */
  private static String consume(String bootstrap, String name) {
    List<Long> offsets = new ArrayList<>();
    List<Integer> assigned = new ArrayList<>();
    Map<String, Object> config = Map.of("bootstrap.servers", bootstrap, "client.id", name, "group.id", name, "auto.offset.reset", "earliest");
    try (KafkaConsumer<byte[], byte[]> consumer = new KafkaConsumer<>(config, new ByteArrayDeserializer(), new ByteArrayDeserializer())) {
      consumer.subscribe(Set.of(name), new ConsumerRebalanceListener() {
        @Override
        public void onPartitionsRevoked(Collection<TopicPartition> partitions) {}

        @Override
        public void onPartitionsAssigned(Collection<TopicPartition> partitions) {
          assigned.add(partitions.size());
        }
      });
      while (offsets.size() < RECORDS) {
        consumer.poll(Duration.ofMillis(100)).forEach(record -> offsets.add(record.offset()));
      }
      boolean inOrder = offsets.stream().sorted().distinct().collect(Collectors.toList()).equals(offsets);
      return offsets.size() + " in order: " + inOrder + ", assigned " + assigned + ", throttled: "
          + wasThrottled(consumer.metrics(), "fetch-throttle-time-max");
    }
  }

  private static boolean wasThrottled(Map<MetricName, ? extends Metric> metrics, String name) {
    return metrics.entrySet().stream().anyMatch(m -> m.getKey().name().equals(name) && (double) m.getValue().metricValue() > 0);
  }
}

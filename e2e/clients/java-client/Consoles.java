// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.AlterConfigOp;
import org.apache.kafka.clients.admin.Config;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.clients.admin.DescribeClusterOptions;
import org.apache.kafka.clients.admin.DescribeClusterResult;
import org.apache.kafka.clients.admin.DescribeConfigsOptions;
import org.apache.kafka.clients.admin.ListConsumerGroupOffsetsSpec;
import org.apache.kafka.clients.admin.ListTopicsOptions;
import org.apache.kafka.clients.admin.NewPartitions;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.admin.OffsetSpec;
import org.apache.kafka.clients.admin.RecordsToDelete;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.KafkaFuture;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.acl.AclBindingFilter;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.quota.ClientQuotaFilter;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;

/**
 * Calls Kafka's admin client as the consoles in Java do: Consoles BOOTSTRAP TOPIC. AKHQ does so in AbstractKafkaWrapper and
 * its repositories, Kafbat UI in ReactiveAdminClient.
 */
final class Consoles {
  private final Admin admin;
  private final String bootstrap;
  private final String topic;
  private final TopicPartition first;
  private final String group;

  private Consoles(Admin admin, String bootstrap, String topic) {
    this.admin = admin;
    this.bootstrap = bootstrap;
    this.topic = topic;
    first = new TopicPartition(topic, 0);
    group = topic + "-group";
  }

  public static void main(String[] args) throws Exception {
    try (Admin admin = Admin.create(Map.of("bootstrap.servers", args[0], "default.api.timeout.ms", 15_000, "request.timeout.ms", 10_000))) {
      Consoles consoles = new Consoles(admin, args[0], args[1]);
      consoles.kafbatStart();
      consoles.changes();
      consoles.kafbat();
      consoles.akhq();
      Steps.step("deleteTopic", () -> get(admin.deleteTopics(List.of(args[1])).all()));
    }
  }

  private static <T> T get(KafkaFuture<T> future) throws Exception {
    return future.get(20, TimeUnit.SECONDS);
  }

  private int node() throws Exception {
    return get(admin.describeCluster().controller()).id();
  }

  /** What Kafbat UI finds out first: the version is none, as a broker of Kafka 4 does not tell its inter-broker protocol. */
  private void kafbatStart() {
    Steps.step("Kafbat UI, cluster", () -> cluster(new DescribeClusterOptions().includeAuthorizedOperations(false)));
    Steps.step("Kafbat UI, broker's settings", () -> {
      ConfigResource broker = new ConfigResource(ConfigResource.Type.BROKER, Integer.toString(node()));
      Config config = get(admin.describeConfigs(List.of(broker)).all()).get(broker);
      return "inter.broker.protocol.version " + config.get("inter.broker.protocol.version") + ", delete.topic.enable " + config.get("delete.topic.enable").value();
    });
    Steps.step("Kafbat UI, ACLs", () -> get(admin.describeAcls(AclBindingFilter.ANY).values()).size());
    Steps.step("Kafbat UI, cluster with operations", () -> cluster(new DescribeClusterOptions().includeAuthorizedOperations(true)));
    Steps.step("Kafbat UI, features", () -> get(admin.describeFeatures().featureMetadata()) != null);
  }

  private String cluster(DescribeClusterOptions options) throws Exception {
    DescribeClusterResult cluster = admin.describeCluster(options);
    get(KafkaFuture.allOf(cluster.controller(), cluster.clusterId(), cluster.nodes(), cluster.authorizedOperations()));
    return get(cluster.nodes()).contains(get(cluster.controller())) + ", "
        + (get(cluster.authorizedOperations()) == null ? "no operations" : get(cluster.authorizedOperations()).size() + " operations");
  }

  private void changes() throws Exception {
    Steps.step("create topic", () -> get(admin.createTopics(List.of(new NewTopic(topic, Optional.of(2), Optional.empty()).configs(Map.of("retention.ms", "3600000")))).all()));
    long until = System.nanoTime() + TimeUnit.SECONDS.toNanos(10); // a broker's view of topics is a little late
    while (!get(admin.listTopics().names()).contains(topic) && System.nanoTime() < until) {
      Thread.sleep(20);
    }
    try (KafkaProducer<String, String> producer = new KafkaProducer<>(Map.of("bootstrap.servers", bootstrap), new StringSerializer(), new StringSerializer())) {
      for (int i = 0; i < 5; i++) {
        producer.send(new ProducerRecord<>(topic, 0, 1_700_000_000_000L + i, "key", "value")).get();
      }
    }
    Steps.step("set offsets", () -> get(admin.alterConsumerGroupOffsets(group, Map.of(first, new OffsetAndMetadata(3))).all()));
    Steps.step("set a setting", () -> get(admin.incrementalAlterConfigs(Map.of(new ConfigResource(ConfigResource.Type.TOPIC, topic),
        List.of(new AlterConfigOp(new ConfigEntry("max.message.bytes", "2000000"), AlterConfigOp.OpType.SET)))).all()));
    Steps.step("set a broker's setting to what it is not", () -> get(admin.incrementalAlterConfigs(Map.of(
        new ConfigResource(ConfigResource.Type.BROKER, Integer.toString(node())),
        List.of(new AlterConfigOp(new ConfigEntry("node.id", "77"), AlterConfigOp.OpType.SET)))).all()));
    Steps.step("grow", () -> get(admin.createPartitions(Map.of(topic, NewPartitions.increaseTo(3))).all()));
    Steps.step("delete records", () -> get(admin.deleteRecords(Map.of(first, RecordsToDelete.beforeOffset(1))).all()));
  }

  private void kafbat() {
    ConfigResource resource = new ConfigResource(ConfigResource.Type.TOPIC, topic);
    DescribeConfigsOptions all = new DescribeConfigsOptions().includeSynonyms(true).includeDocumentation(true);
    Steps.step("Kafbat UI, topics", () -> get(admin.listTopics(new ListTopicsOptions().listInternal(true)).names()).contains(topic));
    Steps.step("Kafbat UI, settings", () -> get(admin.describeConfigs(List.of(resource), all).values().get(resource)).entries().stream()
        .filter(entry -> entry.source() == ConfigEntry.ConfigSource.DYNAMIC_TOPIC_CONFIG)
        .map(entry -> entry.name() + "=" + entry.value() + ", documented " + !entry.documentation().isEmpty() + ", " + entry.type()).sorted()
        .collect(Collectors.toList()));
    Steps.step("Kafbat UI, all settings", () -> get(admin.describeConfigs(List.of(resource), all).values().get(resource)).entries().size());
    Steps.step("Kafbat UI, log directories", () -> get(admin.describeLogDirs(List.of(node())).allDescriptions()).get(node()).values().stream()
        .anyMatch(directory -> directory.error() == null && directory.replicaInfos().containsKey(first)));
    Steps.step("Kafbat UI, offsets", () -> {
      var offsets = admin.listOffsets(Map.of(first, OffsetSpec.earliest(), new TopicPartition(topic, 1), OffsetSpec.latest()));
      return get(offsets.partitionResult(first)).offset() + " " + get(offsets.partitionResult(new TopicPartition(topic, 1))).offset();
    });
    Steps.step("Kafbat UI, groups", this::listed);
    Steps.step("Kafbat UI, group", () -> get(admin.describeConsumerGroups(List.of(group)).all()).get(group).groupState());
    Steps.step("Kafbat UI, offsets of groups", () -> new TreeMap<>(get(admin.listConsumerGroupOffsets(Map.of(
        group, new ListConsumerGroupOffsetsSpec().topicPartitions(null), group + "-missing", new ListConsumerGroupOffsetsSpec().topicPartitions(null))).all()))
        .values().stream().map(offsets -> offsets.values().stream().map(OffsetAndMetadata::offset).collect(Collectors.toList())).collect(Collectors.toList()));
    Steps.step("Kafbat UI, producers", () -> get(admin.describeProducers(List.of(first)).all()).get(first).activeProducers().size());
    Steps.step("Kafbat UI, quotas", () -> get(admin.describeClientQuotas(ClientQuotaFilter.all()).entities()) != null);
  }

  @SuppressWarnings({"deprecation", "removal"}) // as they call it
  private Object listed() throws Exception {
    return get(admin.listConsumerGroups().all()).stream().anyMatch(listed -> listed.groupId().equals(group));
  }

  private void akhq() {
    Steps.step("AKHQ, nodes", () -> cluster(new DescribeClusterOptions()));
    Steps.step("AKHQ, node's settings", () -> {
      ConfigResource broker = new ConfigResource(ConfigResource.Type.BROKER, Integer.toString(node()));
      return get(admin.describeConfigs(List.of(broker)).all()).get(broker).entries().stream().noneMatch(entry -> entry.name().isEmpty());
    });
    Steps.step("AKHQ, topics", () -> {
      var listing = get(admin.listTopics(new ListTopicsOptions().listInternal(true)).listings()).stream().filter(listed -> listed.name().equals(topic)).findFirst().get();
      return listing.isInternal() + " " + get(admin.describeTopics(List.of(topic)).allTopicNames()).get(topic).partitions().size();
    });
    Steps.step("AKHQ, offsets", () -> {
      try (KafkaConsumer<byte[], byte[]> consumer = new KafkaConsumer<>(Map.of("bootstrap.servers", bootstrap), new ByteArrayDeserializer(), new ByteArrayDeserializer())) {
        return consumer.beginningOffsets(List.of(first)).get(first) + " to " + consumer.endOffsets(List.of(first)).get(first);
      }
    });
    Steps.step("AKHQ, records", () -> {
      try (KafkaConsumer<byte[], byte[]> consumer = new KafkaConsumer<>(Map.of("bootstrap.servers", bootstrap, "enable.auto.commit", false), new ByteArrayDeserializer(), new ByteArrayDeserializer())) {
        consumer.assign(List.of(first));
        consumer.seek(first, 2);
        int count = 0;
        for (int polls = 0; polls < 50 && count < 3; polls++) {
          count += consumer.poll(Duration.ofMillis(200)).count();
        }
        return count;
      }
    });
    Steps.step("AKHQ, groups", this::listed);
    Steps.step("AKHQ, offsets of a group", () -> get(admin.listConsumerGroupOffsets(group).partitionsToOffsetAndMetadata()).get(first).offset());
    Steps.step("AKHQ, log directories", () -> get(admin.describeLogDirs(List.of(node())).allDescriptions()).size());
    Steps.step("AKHQ, ACLs", () -> get(admin.describeAcls(AclBindingFilter.ANY).values()).size());
    Steps.step("AKHQ, delete a group", () -> get(admin.deleteConsumerGroups(List.of(group)).all()));
  }
}

// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

import java.time.Duration;
import java.util.Arrays;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import org.apache.kafka.clients.admin.AbortTransactionSpec;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.AlterConfigOp;
import org.apache.kafka.clients.admin.AlterConfigsOptions;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.clients.admin.ConsumerGroupDescription;
import org.apache.kafka.clients.admin.CreatePartitionsOptions;
import org.apache.kafka.clients.admin.CreateTopicsOptions;
import org.apache.kafka.clients.admin.CreateTopicsResult;
import org.apache.kafka.clients.admin.DescribeClusterOptions;
import org.apache.kafka.clients.admin.DescribeConfigsOptions;
import org.apache.kafka.clients.admin.DescribeTopicsOptions;
import org.apache.kafka.clients.admin.ListConsumerGroupOffsetsSpec;
import org.apache.kafka.clients.admin.ListGroupsOptions;
import org.apache.kafka.clients.admin.ListStreamsGroupOffsetsSpec;
import org.apache.kafka.clients.admin.MemberToRemove;
import org.apache.kafka.clients.admin.NewPartitionReassignment;
import org.apache.kafka.clients.admin.NewPartitions;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.admin.OffsetSpec;
import org.apache.kafka.clients.admin.RecordsToDelete;
import org.apache.kafka.clients.admin.RemoveMembersFromConsumerGroupOptions;
import org.apache.kafka.clients.admin.ScramCredentialInfo;
import org.apache.kafka.clients.admin.ScramMechanism;
import org.apache.kafka.clients.admin.TopicDescription;
import org.apache.kafka.clients.admin.UserScramCredentialUpsertion;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.ElectionType;
import org.apache.kafka.common.KafkaFuture;
import org.apache.kafka.common.TopicCollection;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.TopicPartitionReplica;
import org.apache.kafka.common.acl.AccessControlEntry;
import org.apache.kafka.common.acl.AclBinding;
import org.apache.kafka.common.acl.AclBindingFilter;
import org.apache.kafka.common.acl.AclOperation;
import org.apache.kafka.common.acl.AclPermissionType;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.quota.ClientQuotaAlteration;
import org.apache.kafka.common.quota.ClientQuotaEntity;
import org.apache.kafka.common.quota.ClientQuotaFilter;
import org.apache.kafka.common.quota.ClientQuotaFilterComponent;
import org.apache.kafka.common.resource.PatternType;
import org.apache.kafka.common.resource.ResourcePattern;
import org.apache.kafka.common.resource.ResourceType;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;

/**
 * Makes each call of Kafka's admin client: AdminCalls BOOTSTRAP TOPIC. Of what a call returns it prints what does not
 * depend on the server: its address, its ids, its features.
 */
final class AdminCalls {
  private static final int PARTITIONS = 3;
  private static final long FIRST_TIME = 1_700_000_000_000L;

  private final Admin admin;
  private final String bootstrap;
  private final String topic;
  private final TopicPartition first;
  private final TopicPartition second;
  private final String group;

  private AdminCalls(Admin admin, String bootstrap, String topic) {
    this.admin = admin;
    this.bootstrap = bootstrap;
    this.topic = topic;
    first = new TopicPartition(topic, 0);
    second = new TopicPartition(topic, 1);
    group = topic + "-group";
  }

  public static void main(String[] args) throws Exception {
    try (Admin admin = Admin.create(Map.of("bootstrap.servers", args[0], "default.api.timeout.ms", 15_000, "request.timeout.ms", 10_000))) {
      AdminCalls calls = new AdminCalls(admin, args[0], args[1]);
      calls.topics();
      calls.write();
      calls.cluster();
      calls.records();
      calls.groups();
      calls.otherGroups();
      calls.settings();
      calls.replicas();
      calls.security();
      calls.transactions();
      Steps.step("deleteTopics", () -> get(admin.deleteTopics(List.of(args[1])).all()));
      Steps.step("deleteTopics, missing", () -> get(admin.deleteTopics(List.of(args[1] + "-missing")).all()));
    }
  }

  private static <T> T get(KafkaFuture<T> future) throws Exception {
    return future.get(20, TimeUnit.SECONDS);
  }

  private void topics() throws Exception {
    Steps.step("createTopics", () -> {
      CreateTopicsResult made = admin.createTopics(List.of(new NewTopic(topic, PARTITIONS, (short) 1).configs(Map.of("retention.ms", "-1", "max.message.bytes", "2000000"))));
      get(made.all());
      return get(made.numPartitions(topic)) + " partitions, " + get(made.replicationFactor(topic)) + " replica, "
          + get(made.config(topic)).entries().stream()
              .filter(entry -> entry.source() == ConfigEntry.ConfigSource.DYNAMIC_TOPIC_CONFIG)
              .map(entry -> entry.name() + "=" + entry.value()).sorted().collect(Collectors.joining(", "));
    });
    Steps.step("createTopics, again", () -> get(admin.createTopics(List.of(new NewTopic(topic, PARTITIONS, (short) 1))).all()));
    Steps.step("createTopics, no name for one", () -> get(admin.createTopics(List.of(new NewTopic("not a name", 1, (short) 1))).all()));
    Steps.step("createTopics, unknown setting", () ->
        get(admin.createTopics(List.of(new NewTopic(topic + "-x", 1, (short) 1).configs(Map.of("no.such.setting", "1")))).all()));
    Steps.step("createTopics, only validated", () ->
        get(admin.createTopics(List.of(new NewTopic(topic + "-v", 2, (short) 1)), new CreateTopicsOptions().validateOnly(true)).numPartitions(topic + "-v")));
    // A broker's view of the topics is a little behind its controller's.
    long until = System.nanoTime() + TimeUnit.SECONDS.toNanos(10);
    while (!get(admin.listTopics().names()).contains(topic) && System.nanoTime() < until) {
      Thread.sleep(20);
    }
    Steps.step("listTopics", () -> {
      Collection<String> names = get(admin.listTopics().names());
      return names.contains(topic) + " " + names.contains(topic + "-v");
    });
    Steps.step("describeTopics", () -> described(get(admin.describeTopics(List.of(topic)).allTopicNames()).get(topic)));
    Steps.step("describeTopics, by id", () -> {
      org.apache.kafka.common.Uuid id = get(admin.describeTopics(List.of(topic)).allTopicNames()).get(topic).topicId();
      return described(get(admin.describeTopics(TopicCollection.ofTopicIds(List.of(id))).allTopicIds()).get(id));
    });
    Steps.step("describeTopics, with operations", () ->
        get(admin.describeTopics(List.of(topic), new DescribeTopicsOptions().includeAuthorizedOperations(true)).allTopicNames()).get(topic).authorizedOperations().size());
    Steps.step("describeTopics, missing", () -> get(admin.describeTopics(List.of(topic + "-missing")).allTopicNames()));
  }

  private String described(TopicDescription description) {
    return description.name().equals(topic) + ", internal " + description.isInternal() + ", " + description.partitions().stream()
        .map(partition -> partition.partition() + " with " + partition.replicas().size() + " replica, " + partition.isr().size() + " in sync, led " + (partition.leader() != null))
        .collect(Collectors.joining("; "));
  }

  /** Writes ten records to the first partition, half of them a second later than the others, and commits for a group. */
  private void write() throws Exception {
    try (KafkaProducer<String, String> producer = new KafkaProducer<>(Map.of("bootstrap.servers", bootstrap), new StringSerializer(), new StringSerializer())) {
      for (int i = 0; i < 10; i++) {
        producer.send(new ProducerRecord<>(topic, 0, FIRST_TIME + i / 5 * 1000, "key", "value " + i)).get();
      }
    }
  }

  private void cluster() {
    Steps.step("describeCluster", () -> {
      var cluster = admin.describeCluster(new DescribeClusterOptions().includeAuthorizedOperations(true));
      return get(cluster.nodes()).size() + " node, controller " + (get(cluster.controller()) != null) + ", id " + !get(cluster.clusterId()).isEmpty();
    });
    Steps.step("describeFeatures", () -> get(admin.describeFeatures().featureMetadata()) != null);
    Steps.step("describeMetadataQuorum", () -> get(admin.describeMetadataQuorum().quorumInfo()).voters().size());
    Steps.step("describeLogDirs", () -> get(admin.describeLogDirs(List.of(node())).allDescriptions()).size());
    Steps.step("describeReplicaLogDirs", () -> get(admin.describeReplicaLogDirs(List.of(new TopicPartitionReplica(topic, 0, node()))).all()).size());
    Steps.step("unregisterBroker", () -> get(admin.unregisterBroker(4711).all()));
    Steps.step("clientInstanceId", () -> admin.clientInstanceId(Duration.ofSeconds(2)));
  }

  private int node() throws Exception {
    return get(admin.describeCluster().nodes()).iterator().next().id();
  }

  private void records() {
    for (Map.Entry<String, OffsetSpec> spec : List.of(Map.entry("earliest", OffsetSpec.earliest()), Map.entry("latest", OffsetSpec.latest()),
        Map.entry("largest timestamp", OffsetSpec.maxTimestamp()), Map.entry("timestamp", OffsetSpec.forTimestamp(FIRST_TIME + 500)),
        Map.entry("earliest local", OffsetSpec.earliestLocal()), Map.entry("latest tiered", OffsetSpec.latestTiered()))) {
      Steps.step("listOffsets, " + spec.getKey(), () -> {
        var offset = get(admin.listOffsets(Map.of(first, spec.getValue())).partitionResult(first));
        return offset.offset() + " at " + offset.timestamp();
      });
    }
    Steps.step("describeProducers", () -> get(admin.describeProducers(List.of(first)).partitionResult(first)).activeProducers().stream()
        .map(producer -> "epoch " + producer.producerEpoch() + ", last sequence " + producer.lastSequence() + ", at " + producer.lastTimestamp()
            + ", in a transaction " + producer.currentTransactionStartOffset().isPresent())
        .collect(Collectors.joining("; ")));
    Steps.step("deleteRecords", () -> get(admin.deleteRecords(Map.of(first, RecordsToDelete.beforeOffset(4))).lowWatermarks().get(first)).lowWatermark());
    Steps.step("deleteRecords, beyond the end", () -> get(admin.deleteRecords(Map.of(first, RecordsToDelete.beforeOffset(400))).all()));
    Steps.step("listOffsets, earliest after that", () -> get(admin.listOffsets(Map.of(first, OffsetSpec.earliest())).partitionResult(first)).offset());
  }

  private void groups() throws Exception {
    Steps.step("alterConsumerGroupOffsets", () -> get(admin.alterConsumerGroupOffsets(group, Map.of(first, new OffsetAndMetadata(6, "note"), second, new OffsetAndMetadata(0))).all()));
    Steps.step("listConsumerGroupOffsets", () -> offsets(get(admin.listConsumerGroupOffsets(group).partitionsToOffsetAndMetadata())));
    Steps.step("listConsumerGroupOffsets, one partition", () -> offsets(get(admin.listConsumerGroupOffsets(
        Map.of(group, new ListConsumerGroupOffsetsSpec().topicPartitions(List.of(first)))).partitionsToOffsetAndMetadata(group))));
    Steps.step("describeConsumerGroups, no members", () -> described(get(admin.describeConsumerGroups(List.of(group)).all()).get(group)));
    Steps.step("describeConsumerGroups, missing", () -> get(admin.describeConsumerGroups(List.of(group + "-missing")).all()));
    try (KafkaConsumer<String, String> member = new KafkaConsumer<>(Map.of("bootstrap.servers", bootstrap, "group.id", group, "group.instance.id", "one", "enable.auto.commit", false),
        new StringDeserializer(), new StringDeserializer())) {
      member.subscribe(List.of(topic));
      while (member.assignment().isEmpty()) {
        member.poll(Duration.ofMillis(100));
      }
      Steps.step("describeConsumerGroups", () -> described(get(admin.describeConsumerGroups(List.of(group)).all()).get(group)));
      Steps.step("describeClassicGroups", () -> {
        var described = get(admin.describeClassicGroups(List.of(group)).all()).get(group);
        return described.state() + ", " + described.protocol() + ", " + described.protocolData() + ", " + described.members().size() + " member";
      });
      Steps.step("listGroups", () -> get(admin.listGroups().all()).stream().filter(listed -> listed.groupId().equals(group))
          .map(listed -> listed.type() + " " + listed.protocol() + " " + listed.groupState()).collect(Collectors.toList()));
      Steps.step("listGroups, only those for consumers", () -> get(admin.listGroups(ListGroupsOptions.forConsumerGroups()).all()).stream().anyMatch(listed -> listed.groupId().equals(group)));
      Steps.step("listConsumerGroups", this::listConsumerGroups);
      Steps.step("deleteConsumerGroupOffsets, subscribed", () -> get(admin.deleteConsumerGroupOffsets(group, Set.of(first)).all()));
      Steps.step("deleteConsumerGroups, with a member", () -> get(admin.deleteConsumerGroups(List.of(group)).all()));
      Steps.step("alterConsumerGroupOffsets, with a member", () -> get(admin.alterConsumerGroupOffsets(group, Map.of(first, new OffsetAndMetadata(1))).all()));
      Steps.step("removeMembersFromConsumerGroup, missing", () ->
          get(admin.removeMembersFromConsumerGroup(group, new RemoveMembersFromConsumerGroupOptions(Set.of(new MemberToRemove("two")))).all()));
      Steps.step("removeMembersFromConsumerGroup", () ->
          get(admin.removeMembersFromConsumerGroup(group, new RemoveMembersFromConsumerGroupOptions(Set.of(new MemberToRemove("one")))).all()));
    }
    Steps.step("deleteConsumerGroupOffsets", () -> {
      get(admin.deleteConsumerGroupOffsets(group, Set.of(first)).all());
      return offsets(get(admin.listConsumerGroupOffsets(group).partitionsToOffsetAndMetadata()));
    });
    Steps.step("deleteConsumerGroups", () -> get(admin.deleteConsumerGroups(List.of(group)).all()));
    Steps.step("deleteConsumerGroups, missing", () -> get(admin.deleteConsumerGroups(List.of(group)).all()));
  }

  @SuppressWarnings({"deprecation", "removal"}) // other programs still call it
  private Object listConsumerGroups() throws Exception {
    return get(admin.listConsumerGroups().all()).stream().anyMatch(listed -> listed.groupId().equals(group));
  }

  private static String offsets(Map<TopicPartition, OffsetAndMetadata> offsets) {
    return offsets.entrySet().stream().sorted((a, b) -> a.getKey().partition() - b.getKey().partition())
        .map(entry -> entry.getKey().partition() + ": " + (entry.getValue() == null ? null : entry.getValue().offset() + " '" + entry.getValue().metadata() + "'"))
        .collect(Collectors.joining(", "));
  }

  private static String described(ConsumerGroupDescription description) {
    return description.type() + " " + description.groupState() + ", assignor '" + description.partitionAssignor() + "', coordinator " + (description.coordinator() != null) + ", members "
        + description.members().stream().map(member -> member.groupInstanceId().orElse("") + " " + member.assignment().topicPartitions().size()).collect(Collectors.toList());
  }

  /** Calls for groups of the kinds that came with Kafka 4. */
  private void otherGroups() {
    String other = topic + "-other";
    Steps.step("describeShareGroups", () -> get(admin.describeShareGroups(List.of(other)).all()));
    Steps.step("alterShareGroupOffsets", () -> get(admin.alterShareGroupOffsets(other, Map.of(first, 0L)).all()));
    Steps.step("deleteShareGroups", () -> get(admin.deleteShareGroups(List.of(other)).all()));
    Steps.step("describeStreamsGroups", () -> get(admin.describeStreamsGroups(List.of(other)).all()));
    Steps.step("listStreamsGroupOffsets", () -> get(admin.listStreamsGroupOffsets(Map.of(other, new ListStreamsGroupOffsetsSpec())).partitionsToOffsetAndMetadata(other)));
  }

  private void settings() {
    ConfigResource resource = new ConfigResource(ConfigResource.Type.TOPIC, topic);
    Steps.step("describeConfigs", () -> setting(resource, "retention.ms"));
    Steps.step("describeConfigs, where it comes from", () ->
        get(admin.describeConfigs(List.of(resource), new DescribeConfigsOptions().includeSynonyms(true)).all()).get(resource).get("max.message.bytes").synonyms().stream()
            .map(synonym -> synonym.source() + " " + synonym.name() + "=" + synonym.value()).collect(Collectors.joining(", ")));
    Steps.step("describeConfigs, of a broker", () -> {
      ConfigResource broker = new ConfigResource(ConfigResource.Type.BROKER, Integer.toString(node()));
      return !get(admin.describeConfigs(List.of(broker)).all()).get(broker).entries().isEmpty();
    });
    Steps.step("describeConfigs, missing", () -> get(admin.describeConfigs(List.of(new ConfigResource(ConfigResource.Type.TOPIC, topic + "-missing"))).all()));
    Steps.step("incrementalAlterConfigs", () -> {
      alter(resource, AlterConfigOp.OpType.SET, "retention.ms", "3600000");
      return setting(resource, "retention.ms") + ", kept " + setting(resource, "max.message.bytes");
    });
    Steps.step("incrementalAlterConfigs, append", () -> {
      alter(resource, AlterConfigOp.OpType.APPEND, "cleanup.policy", "compact");
      return setting(resource, "cleanup.policy");
    });
    Steps.step("incrementalAlterConfigs, subtract", () -> {
      alter(resource, AlterConfigOp.OpType.SUBTRACT, "cleanup.policy", "delete");
      return setting(resource, "cleanup.policy");
    });
    Steps.step("incrementalAlterConfigs, delete", () -> {
      alter(resource, AlterConfigOp.OpType.DELETE, "cleanup.policy", null);
      return setting(resource, "cleanup.policy");
    });
    Steps.step("incrementalAlterConfigs, only validated", () -> {
      get(admin.incrementalAlterConfigs(Map.of(resource, List.of(new AlterConfigOp(new ConfigEntry("retention.ms", "1000"), AlterConfigOp.OpType.SET))),
          new AlterConfigsOptions().validateOnly(true)).all());
      return setting(resource, "retention.ms");
    });
    Steps.step("incrementalAlterConfigs, not a value", () -> {
      alter(resource, AlterConfigOp.OpType.SET, "retention.ms", "long");
      return null;
    });
    Steps.step("listConfigResources", () -> get(admin.listConfigResources(Set.of(ConfigResource.Type.TOPIC), new org.apache.kafka.clients.admin.ListConfigResourcesOptions()).all()).contains(resource));
    Steps.step("createPartitions, only validated", () ->
        get(admin.createPartitions(Map.of(topic, NewPartitions.increaseTo(PARTITIONS + 1)), new CreatePartitionsOptions().validateOnly(true)).all()));
    Steps.step("createPartitions", () -> get(admin.createPartitions(Map.of(topic, NewPartitions.increaseTo(PARTITIONS + 1))).all()));
    Steps.step("createPartitions, fewer", () -> get(admin.createPartitions(Map.of(topic, NewPartitions.increaseTo(1))).all()));
    Steps.step("describeTopics, grown", () -> {
      long until = System.nanoTime() + TimeUnit.SECONDS.toNanos(10); // as above
      int partitions;
      do {
        partitions = get(admin.describeTopics(List.of(topic)).allTopicNames()).get(topic).partitions().size();
      } while (partitions == PARTITIONS && System.nanoTime() < until);
      return partitions;
    });
    ClientQuotaEntity client = new ClientQuotaEntity(Map.of(ClientQuotaEntity.CLIENT_ID, topic));
    Steps.step("describeClientQuotas", () -> get(admin.describeClientQuotas(ClientQuotaFilter.all()).entities()) != null);
    Steps.step("alterClientQuotas", () -> quota(client, 1e9));
    Steps.step("alterClientQuotas, not a rate", () -> quota(client, -1.0));
    Steps.step("alterClientQuotas, remove", () -> quota(client, null));
    Steps.step("updateFeatures", () -> get(admin.updateFeatures(
        Map.of("no.such.feature", new org.apache.kafka.clients.admin.FeatureUpdate((short) 1, org.apache.kafka.clients.admin.FeatureUpdate.UpgradeType.UPGRADE)),
        new org.apache.kafka.clients.admin.UpdateFeaturesOptions().validateOnly(true)).all()));
  }

  private void alter(ConfigResource resource, AlterConfigOp.OpType how, String name, String value) throws Exception {
    get(admin.incrementalAlterConfigs(Map.of(resource, List.of(new AlterConfigOp(new ConfigEntry(name, value), how)))).all());
  }

  /** A setting once it is not changing any more: a broker learns of changes a little later than its controller. */
  private String setting(ConfigResource resource, String name) throws Exception {
    String value;
    long unchanged = System.nanoTime();
    String before = null;
    do {
      value = get(admin.describeConfigs(List.of(resource)).all()).get(resource).get(name).value();
      if (!value.equals(before)) {
        before = value;
        unchanged = System.nanoTime();
      }
      Thread.sleep(10);
    } while (System.nanoTime() - unchanged < TimeUnit.MILLISECONDS.toNanos(150));
    return value;
  }

  /** Sets the rate at which a client may produce, or removes it, and returns what is told of it then. */
  private Object quota(ClientQuotaEntity client, Double rate) throws Exception {
    get(admin.alterClientQuotas(List.of(new ClientQuotaAlteration(client, List.of(new ClientQuotaAlteration.Op("producer_byte_rate", rate))))).all());
    ClientQuotaFilter filter = ClientQuotaFilter.containsOnly(List.of(ClientQuotaFilterComponent.ofEntity(ClientQuotaEntity.CLIENT_ID, topic)));
    Map<String, Double> told = rate == null ? Map.of() : Map.of("producer_byte_rate", rate);
    long until = System.nanoTime() + TimeUnit.SECONDS.toNanos(10); // as with settings
    Map<String, Double> found;
    do {
      found = get(admin.describeClientQuotas(filter).entities()).getOrDefault(client, Map.of());
    } while (!found.equals(told) && System.nanoTime() < until);
    return found;
  }

  private void replicas() {
    Steps.step("electLeaders", () -> get(admin.electLeaders(ElectionType.PREFERRED, Set.of(first)).partitions()).get(first).map(failure -> failure.getClass().getSimpleName()));
    Steps.step("listPartitionReassignments", () -> get(admin.listPartitionReassignments().reassignments()).size());
    Steps.step("alterPartitionReassignments", () ->
        get(admin.alterPartitionReassignments(Map.of(first, Optional.of(new NewPartitionReassignment(Arrays.asList(node()))))).all()));
    Steps.step("alterReplicaLogDirs", () -> get(admin.alterReplicaLogDirs(Map.of(new TopicPartitionReplica(topic, 0, node()), "/nowhere")).all()));
  }

  private void security() {
    AclBinding binding = new AclBinding(new ResourcePattern(ResourceType.TOPIC, topic, PatternType.LITERAL),
        new AccessControlEntry("User:nobody", "*", AclOperation.READ, AclPermissionType.DENY));
    Steps.step("describeAcls", () -> get(admin.describeAcls(AclBindingFilter.ANY).values()));
    Steps.step("createAcls", () -> get(admin.createAcls(List.of(binding)).all()));
    Steps.step("deleteAcls", () -> get(admin.deleteAcls(List.of(binding.toFilter())).all()));
    Steps.step("createDelegationToken", () -> get(admin.createDelegationToken().delegationToken()));
    Steps.step("describeDelegationToken", () -> get(admin.describeDelegationToken().delegationTokens()));
    Steps.step("describeUserScramCredentials", () -> get(admin.describeUserScramCredentials(List.of(topic)).description(topic)));
    Steps.step("alterUserScramCredentials", () -> get(admin.alterUserScramCredentials(List.of(
        new UserScramCredentialUpsertion(topic, new ScramCredentialInfo(ScramMechanism.SCRAM_SHA_256, 4096), "secret"))).all()));
  }

  private void transactions() {
    Steps.step("listTransactions", () -> get(admin.listTransactions().all()).stream().anyMatch(listed -> listed.transactionalId().equals(topic)));
    Steps.step("describeTransactions", () -> get(admin.describeTransactions(List.of(topic)).all()));
    Steps.step("fenceProducers", () -> get(admin.fenceProducers(List.of(topic)).all()));
    Steps.step("forceTerminateTransaction", () -> get(admin.forceTerminateTransaction(topic).result()));
    Steps.step("abortTransaction", () -> get(admin.abortTransaction(new AbortTransactionSpec(first, 4711, (short) 0, 0)).all()));
  }
}

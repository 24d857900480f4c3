// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor;
import org.apache.kafka.clients.consumer.CooperativeStickyAssignor;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.consumer.RangeAssignor;
import org.apache.kafka.clients.consumer.RoundRobinAssignor;
import org.apache.kafka.clients.consumer.StickyAssignor;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.errors.WakeupException;

/** Takes consumers through what they do in groups: Groups BOOTSTRAP TOPIC. */
final class Groups {
  private static final int PARTITIONS = 4;

  private final String bootstrap;
  private final String topic;

  private Groups(String bootstrap, String topic) {
    this.bootstrap = bootstrap;
    this.topic = topic;
  }

  public static void main(String[] args) throws Exception {
    Groups groups = new Groups(args[0], args[1]);
    try (Admin admin = Admin.create(Map.of("bootstrap.servers", args[0]))) {
      create(admin, args[1]);
      Steps.step("members by default", () -> groups.members(List.of()));
      for (Class<? extends ConsumerPartitionAssignor> assignor : List.of(RangeAssignor.class, RoundRobinAssignor.class, StickyAssignor.class, CooperativeStickyAssignor.class)) {
        Steps.step("members with " + assignor.getSimpleName(), () -> groups.members(List.of(assignor)));
      }
      Steps.step("topics of a pattern", () -> groups.pattern(admin));
      Steps.step("static member", groups::staticMember);
      Steps.step("commits", groups::commits);
      Steps.step("commit of one that did not poll", groups::late);
      Steps.step("the consumer protocol", groups::consumerProtocol);
    }
  }

  private static void create(Admin admin, String topic) throws Exception {
    admin.createTopics(List.of(new NewTopic(topic, Optional.of(PARTITIONS), Optional.empty()))).all().get();
  }

  private KafkaConsumer<String, String> consumer(String group, Map<String, Object> settings) {
    Map<String, Object> config = new TreeMap<>(Map.of("bootstrap.servers", bootstrap, "group.id", topic + "-" + group,
        "heartbeat.interval.ms", 200, "session.timeout.ms", 6000, "auto.offset.reset", "earliest"));
    config.putAll(settings);
    return new KafkaConsumer<>(config, new StringDeserializer(), new StringDeserializer());
  }

  /** A consumer that is polled by a thread of its own. */
  private static final class Member implements AutoCloseable {
    private final KafkaConsumer<String, String> consumer;
    private final CompletableFuture<Void> end;
    private volatile Set<TopicPartition> assigned = Set.of();

    Member(KafkaConsumer<String, String> consumer) {
      this.consumer = consumer;
      end = CompletableFuture.runAsync(this::poll, task -> new Thread(task).start());
    }

    private void poll() {
      try (consumer) {
        while (true) {
          consumer.poll(Duration.ofMillis(100));
          assigned = Set.copyOf(consumer.assignment());
        }
      } catch (WakeupException e) {
        // from close
      }
    }

    @Override
    public void close() {
      consumer.wakeup();
      end.join();
    }
  }

  /** Two members share the partitions; one leaves, and the other has all. */
  private String members(List<Class<? extends ConsumerPartitionAssignor>> assignors) throws Exception {
    Map<String, Object> settings = assignors.isEmpty() ? Map.of() : Map.of("partition.assignment.strategy", assignors);
    String group = "members-" + assignors.stream().map(Class::getSimpleName).collect(Collectors.joining());
    List<Member> both = new ArrayList<>();
    try {
      for (int i = 0; i < 2; i++) {
        KafkaConsumer<String, String> consumer = consumer(group, settings);
        consumer.subscribe(List.of(topic));
        both.add(new Member(consumer));
      }
      await(() -> both.stream().allMatch(member -> member.assigned.size() == PARTITIONS / 2) && union(both).size() == PARTITIONS);
      both.remove(1).close();
      await(() -> union(both).size() == PARTITIONS);
      return "half each, then all";
    } finally {
      both.forEach(Member::close);
    }
  }

  private static Set<TopicPartition> union(Collection<Member> members) {
    return members.stream().flatMap(member -> member.assigned.stream()).collect(Collectors.toSet());
  }

  /** Waits for something that comes true within 20 seconds. */
  private static void await(BooleanSupplier holds) throws InterruptedException {
    long until = System.nanoTime() + TimeUnit.SECONDS.toNanos(20);
    while (!holds.getAsBoolean()) {
      if (System.nanoTime() > until) {
        throw new IllegalStateException("not within 20 seconds");
      }
      Thread.sleep(20);
    }
  }

  private String pattern(Admin admin) throws Exception {
    for (String end : List.of("a", "b")) {
      create(admin, topic + "-pattern-" + end);
    }
    KafkaConsumer<String, String> consumer = consumer("pattern", Map.of("metadata.max.age.ms", 300));
    consumer.subscribe(Pattern.compile(Pattern.quote(topic) + "-pattern-.*"));
    try (Member member = new Member(consumer)) {
      await(() -> member.assigned.size() == 2 * PARTITIONS);
      create(admin, topic + "-pattern-later");
      await(() -> member.assigned.size() == 3 * PARTITIONS);
    }
    return "two, and one that comes later";
  }

  /** A static member that is closed and comes again has the same member's place: the group does not change. */
  private String staticMember() {
    List<String> members = new ArrayList<>();
    for (int i = 0; i < 2; i++) {
      try (KafkaConsumer<String, String> consumer = consumer("static", Map.of("group.instance.id", "one"))) {
        consumer.subscribe(List.of(topic));
        while (consumer.assignment().isEmpty()) {
          consumer.poll(Duration.ofMillis(100));
        }
        members.add(consumer.assignment().size() + " partitions in generation " + consumer.groupMetadata().generationId());
      }
    }
    return String.join(", ", members);
  }

  private String commits() throws Exception {
    TopicPartition first = new TopicPartition(topic, 0);
    TopicPartition second = new TopicPartition(topic, 1);
    try (KafkaConsumer<String, String> consumer = consumer("commits", Map.of("enable.auto.commit", false))) {
      consumer.subscribe(List.of(topic));
      while (consumer.assignment().isEmpty()) {
        consumer.poll(Duration.ofMillis(100));
      }
      consumer.commitSync(Map.of(first, new OffsetAndMetadata(5, Optional.of(0), "synchronous")));
      CompletableFuture<Exception> told = new CompletableFuture<>();
      consumer.commitAsync(Map.of(second, new OffsetAndMetadata(7)), (offsets, failure) -> told.complete(failure));
      while (!told.isDone()) {
        consumer.poll(Duration.ofMillis(20));
      }
      Map<TopicPartition, OffsetAndMetadata> committed = consumer.committed(Set.of(first, second));
      return "callback " + told.get() + ", " + Stream.of(first, second).map(committed::get).map(Object::toString).collect(Collectors.joining(", "));
    }
  }

  private String late() throws Exception {
    try (KafkaConsumer<String, String> consumer = consumer("late", Map.of("max.poll.interval.ms", 500, "enable.auto.commit", false))) {
      consumer.subscribe(List.of(topic));
      while (consumer.assignment().isEmpty()) {
        consumer.poll(Duration.ofMillis(100));
      }
      Thread.sleep(1500);
      consumer.commitSync(Map.of(new TopicPartition(topic, 0), new OffsetAndMetadata(1)));
      return "committed";
    }
  }

  private String consumerProtocol() {
    Map<String, Object> config = Map.of("bootstrap.servers", bootstrap, "group.id", topic + "-protocol", "group.protocol", "consumer");
    try (KafkaConsumer<String, String> consumer = new KafkaConsumer<>(config, new StringDeserializer(), new StringDeserializer())) {
      consumer.subscribe(List.of(topic));
      long until = System.nanoTime() + TimeUnit.SECONDS.toNanos(20);
      while (consumer.assignment().isEmpty() && System.nanoTime() < until) {
        consumer.poll(Duration.ofMillis(100));
      }
      return consumer.assignment().size() + " partitions";
    }
  }
}

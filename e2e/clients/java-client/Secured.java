// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.Future;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;

/**
 * Takes producer, consumer and administrator through what Kafka's clients know of security. Its arguments are NAME=VALUE:
 *
 * <ul>
 *   <li>sasl, sasl.tls, mutual, relogin: where SASL_PLAINTEXT, SASL_SSL, TLS with certificates on both sides, and SASL with
 *       sessions that end soon are spoken
 *   <li>user, password; ca, mutual.ca, key, stranger: PEM files of the authorities, of a client's certificate with its key, and
 *       of an authority that has signed nothing; topic: the start of topics' names; seconds: how long relogin writes
 * </ul>
 */
final class Secured {
  private static final int RECORDS = 200;

  private final Map<String, String> args = new HashMap<>();

  private Secured(String[] args) {
    for (String arg : args) {
      int equals = arg.indexOf('=');
      this.args.put(arg.substring(0, equals), arg.substring(equals + 1));
    }
  }

  public static void main(String[] args) throws Exception {
    Secured secured = new Secured(args);
    FutureTask<String> relogin = new FutureTask<>(secured::writeLong); // beside the others: it takes its time
    new Thread(relogin).start();
    secured.use("SASL_PLAINTEXT", secured.sasl("sasl", secured.args.get("password")));
    secured.use("SASL_SSL", secured.trusting(secured.sasl("sasl.tls", secured.args.get("password")), "ca"));
    secured.use("mutual TLS", secured.showing(secured.trusting(secured.at("mutual"), "mutual.ca")));

    secured.refuse("SASL_PLAINTEXT, wrong password", secured.sasl("sasl", "wrong"));
    secured.refuse("SASL_SSL, wrong password", secured.trusting(secured.sasl("sasl.tls", "wrong"), "ca"));
    secured.refuse("unknown authority", secured.trusting(secured.sasl("sasl.tls", "wrong"), "stranger"));
    secured.refuse("no client certificate", secured.trusting(secured.at("mutual"), "mutual.ca"));
    Steps.step("re-authentication", relogin::get);
  }

  private Map<String, Object> at(String listener) {
    Map<String, Object> config = new HashMap<>();
    config.put("bootstrap.servers", args.get(listener));
    config.put("request.timeout.ms", 10_000);
    config.put("default.api.timeout.ms", 10_000);
    return config;
  }

  /** Wrong passwords are another user's: who has given one waits before the next is looked at. */
  private Map<String, Object> sasl(String listener, String password) {
    Map<String, Object> config = at(listener);
    config.put("security.protocol", "SASL_PLAINTEXT");
    config.put("sasl.mechanism", "PLAIN");
    String user = password.equals("wrong") ? "nobody" : args.get("user");
    config.put("sasl.jaas.config", "org.apache.kafka.common.security.plain.PlainLoginModule required username=\"" + user + "\" password=\"" + password + "\";");
    return config;
  }

  private Map<String, Object> trusting(Map<String, Object> config, String authority) {
    config.put("security.protocol", config.containsKey("sasl.mechanism") ? "SASL_SSL" : "SSL");
    config.put("ssl.truststore.type", "PEM");
    config.put("ssl.truststore.location", args.get(authority));
    return config;
  }

  private Map<String, Object> showing(Map<String, Object> config) {
    config.put("ssl.keystore.type", "PEM");
    config.put("ssl.keystore.location", args.get("key"));
    return config;
  }

  /** Creates a topic, writes to it as the producer does by default, and reads it in a group. */
  private void use(String name, Map<String, Object> config) {
    String topic = args.get("topic") + "-" + name.replaceAll("\\W", "-");
    Steps.step(name + ": create a topic", () -> {
      try (Admin admin = Admin.create(config)) {
        admin.createTopics(List.of(new NewTopic(topic, Optional.of(1), Optional.empty()))).all().get();
        return admin.listTopics().names().get().contains(topic);
      }
    });
    Steps.step(name + ": produce", () -> {
      List<Future<RecordMetadata>> sent = new ArrayList<>();
      try (KafkaProducer<String, String> producer = producer(config)) {
        for (int i = 0; i < RECORDS; i++) {
          sent.add(producer.send(new ProducerRecord<>(topic, "key", "value " + i)));
        }
      }
      return "last offset " + sent.get(RECORDS - 1).get().offset();
    });
    Steps.step(name + ": consume", () -> {
      Map<String, Object> member = new HashMap<>(config);
      member.put("group.id", topic);
      member.put("auto.offset.reset", "earliest");
      int read = 0;
      try (KafkaConsumer<String, String> consumer = new KafkaConsumer<>(member, new StringDeserializer(), new StringDeserializer())) {
        consumer.subscribe(List.of(topic));
        for (long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(20); read < RECORDS && System.nanoTime() < end; ) {
          read += consumer.poll(Duration.ofSeconds(1)).count();
        }
        consumer.commitSync();
      }
      return read + " records";
    });
  }

  private static KafkaProducer<String, String> producer(Map<String, Object> config) {
    return new KafkaProducer<>(config, new StringSerializer(), new StringSerializer());
  }

  /** What client after client is told that is not let in. */
  private void refuse(String name, Map<String, Object> config) {
    Steps.step(name + ": administrator", () -> {
      try (Admin admin = Admin.create(config)) {
        return admin.listTopics().names().get();
      }
    });
    Steps.step(name + ": producer", () -> {
      try (KafkaProducer<String, String> producer = producer(config)) {
        return producer.send(new ProducerRecord<>(args.get("topic"), "value")).get();
      }
    });
  }

  /** Writes for longer than a few sessions last; that its logins are renewed meanwhile must not show. */
  private String writeLong() throws Exception {
    String topic = args.get("topic") + "-relogin";
    Map<String, Object> config = sasl("relogin", args.get("password"));
    try (Admin admin = Admin.create(config)) {
      admin.createTopics(List.of(new NewTopic(topic, Optional.of(1), Optional.empty()))).all().get();
    }
    List<Future<RecordMetadata>> sent = new ArrayList<>();
    double logins;
    try (KafkaProducer<String, String> producer = producer(config)) {
      for (long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(Long.parseLong(args.get("seconds"))); System.nanoTime() < end; ) {
        sent.add(producer.send(new ProducerRecord<>(topic, "value")));
        Thread.sleep(20);
      }
      producer.flush();
      logins = producer.metrics().values().stream()
          .filter(m -> m.metricName().name().equals("successful-reauthentication-total"))
          .mapToDouble(m -> (double) m.metricValue())
          .sum();
    }
    for (Future<RecordMetadata> one : sent) {
      one.get();
    }
    return "all is written, re-authenticated more than once: " + (logins > 1);
  }
}

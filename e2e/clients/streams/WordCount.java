// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

import java.time.Duration;
import java.util.List;
import java.util.Properties;
import java.util.concurrent.CountDownLatch;
import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.errors.StreamsUncaughtExceptionHandler.StreamThreadExceptionResponse;
import org.apache.kafka.streams.kstream.Consumed;
import org.apache.kafka.streams.kstream.Grouped;
import org.apache.kafka.streams.kstream.Materialized;
import org.apache.kafka.streams.kstream.Produced;
import org.apache.kafka.streams.processor.StateRestoreListener;
import org.apache.kafka.streams.state.KeyValueStore;

/**
 * Counts the words of a topic until it is told to end: WordCount BOOTSTRAP APPLICATION STATE-FOLDER INPUT OUTPUT
 * [GUARANTEE]. Each word that is read goes to the output with its count, both as text. The guarantee is at_least_once if
 * none is given.
 *
 * <p>Grouping by word makes a repartition topic, counting a store with a changelog topic. It prints each state that it
 * comes to ("state RUNNING"), each store that it had to restore ("restored 12 of counts 1") and, in the end, its tasks.
 */
final class WordCount {
  public static void main(String[] args) throws InterruptedException {
    StreamsBuilder builder = new StreamsBuilder();
    builder.stream(args[3], Consumed.with(Serdes.String(), Serdes.String()))
        .flatMapValues(line -> List.of(line.split(" ")))
        .groupBy((key, word) -> word, Grouped.with("words", Serdes.String(), Serdes.String()))
        .count(Materialized.<String, Long, KeyValueStore<Bytes, byte[]>>as("counts").withKeySerde(Serdes.String()).withValueSerde(Serdes.Long()))
        .toStream()
        .mapValues(count -> count.toString())
        .to(args[4], Produced.with(Serdes.String(), Serdes.String()));

    KafkaStreams streams = new KafkaStreams(builder.build(), config(args));
    CountDownLatch ended = new CountDownLatch(1);
    streams.setStateListener((now, before) -> {
      System.out.println("state " + now);
      if (now == KafkaStreams.State.ERROR) {
        ended.countDown();
      }
    });
    streams.setGlobalStateRestoreListener(new RestoreListener());
    streams.setUncaughtExceptionHandler(failure -> {
      failure.printStackTrace();
      return StreamThreadExceptionResponse.SHUTDOWN_CLIENT;
    });
    Runtime.getRuntime().addShutdownHook(new Thread(() -> {
      streams.metadataForLocalThreads().forEach(thread ->
          thread.activeTasks().forEach(task -> System.out.println("task " + task.taskId())));
      System.out.println("closed " + streams.close(Duration.ofSeconds(20)));
    }));
    streams.start();
    ended.await();
    System.exit(1);
  }

  private static Properties config(String[] args) {
    Properties p = new Properties();
    p.put(StreamsConfig.BOOTSTRAP_SERVERS_CONFIG, args[0]);
    p.put(StreamsConfig.APPLICATION_ID_CONFIG, args[1]);
    p.put(StreamsConfig.STATE_DIR_CONFIG, args[2]);
    p.put(StreamsConfig.PROCESSING_GUARANTEE_CONFIG, args.length > 5 ? args[5] : StreamsConfig.AT_LEAST_ONCE);
    p.put(StreamsConfig.NUM_STREAM_THREADS_CONFIG, 2);
    p.put(ConsumerConfig.SESSION_TIMEOUT_MS_CONFIG, 6000); // its members do not leave: who comes next waits for them
    p.put(ConsumerConfig.HEARTBEAT_INTERVAL_MS_CONFIG, 500);
    p.put(StreamsConfig.COMMIT_INTERVAL_MS_CONFIG, 200);
    p.put(StreamsConfig.STATESTORE_CACHE_MAX_BYTES_CONFIG, 0); // each count goes out
    return p;
  }

  private static final class RestoreListener implements StateRestoreListener {
    @Override
    public void onRestoreStart(TopicPartition partition, String store, long from, long to) {}

    @Override
    public void onBatchRestored(TopicPartition partition, String store, long end, long count) {}

    @Override
    public void onRestoreEnd(TopicPartition partition, String store, long total) {
      System.out.println("restored " + total + " of " + store + " " + partition.partition());
    }
  }
}

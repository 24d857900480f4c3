// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Comparator;
import java.util.Optional;
import java.util.stream.Stream;
import org.apache.flink.api.common.eventtime.WatermarkStrategy;
import org.apache.flink.api.common.functions.OpenContext;
import org.apache.flink.api.common.functions.RichMapFunction;
import org.apache.flink.api.common.serialization.SimpleStringSchema;
import org.apache.flink.api.common.state.ValueState;
import org.apache.flink.api.common.state.ValueStateDescriptor;
import org.apache.flink.configuration.CheckpointingOptions;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.configuration.ExternalizedCheckpointRetention;
import org.apache.flink.configuration.StateRecoveryOptions;
import org.apache.flink.connector.base.DeliveryGuarantee;
import org.apache.flink.connector.kafka.sink.KafkaRecordSerializationSchema;
import org.apache.flink.connector.kafka.sink.KafkaSink;
import org.apache.flink.connector.kafka.source.KafkaSource;
import org.apache.flink.connector.kafka.source.enumerator.initializer.OffsetsInitializer;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;

/**
 * Writes, for each record of a topic, its value and how often that came until it is told to end: Counts BOOTSTRAP INPUT
 * OUTPUT GROUP CHECKPOINT-FOLDER. The counts are kept in checkpoints; it goes on from the newest in the folder.
 */
final class Counts {
  public static void main(String[] args) throws Exception {
    Path checkpoints = Path.of(args[4]);
    Configuration config = new Configuration();
    config.set(CheckpointingOptions.CHECKPOINTS_DIRECTORY, checkpoints.toUri().toString());
    config.set(CheckpointingOptions.CHECKPOINTING_INTERVAL, Duration.ofMillis(500));
    config.set(CheckpointingOptions.EXTERNALIZED_CHECKPOINT_RETENTION, ExternalizedCheckpointRetention.RETAIN_ON_CANCELLATION);
    newest(checkpoints).ifPresent(from -> {
      System.out.println("goes on from " + from);
      config.set(StateRecoveryOptions.SAVEPOINT_PATH, from.toUri().toString());
    });
    StreamExecutionEnvironment env = StreamExecutionEnvironment.getExecutionEnvironment(config); // in a mini cluster
    env.setParallelism(2);

    KafkaSource<String> source = KafkaSource.<String>builder()
        .setBootstrapServers(args[0]).setTopics(args[1]).setGroupId(args[3])
        .setStartingOffsets(OffsetsInitializer.earliest())
        .setValueOnlyDeserializer(new SimpleStringSchema())
        .build();
    KafkaSink<String> sink = KafkaSink.<String>builder()
        .setBootstrapServers(args[0])
        .setRecordSerializer(KafkaRecordSerializationSchema.<String>builder().setTopic(args[2]).setValueSerializationSchema(new SimpleStringSchema()).build())
        .setDeliveryGuarantee(DeliveryGuarantee.AT_LEAST_ONCE)
        .build();
    env.fromSource(source, WatermarkStrategy.noWatermarks(), "source")
        .keyBy(value -> value)
        .map(new Count())
        .sinkTo(sink);
    env.execute("counts");
  }

  /** Finds the newest checkpoint that is complete. */
  private static Optional<Path> newest(Path checkpoints) throws IOException {
    try (Stream<Path> files = Files.walk(checkpoints)) {
      return files.filter(file -> file.endsWith("_metadata")).max(Comparator.comparing(Counts::written)).map(Path::getParent);
    }
  }

  private static java.nio.file.attribute.FileTime written(Path file) {
    try {
      return Files.getLastModifiedTime(file);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private static final class Count extends RichMapFunction<String, String> {
    private static final long serialVersionUID = 1;
    private transient ValueState<Integer> count;

    @Override
    public void open(OpenContext context) {
      count = getRuntimeContext().getState(new ValueStateDescriptor<>("count", Integer.class));
    }

    @Override
    public String map(String value) throws IOException {
      int n = count.value() == null ? 1 : count.value() + 1;
      count.update(n);
      return value + " " + n;
    }
  }
}

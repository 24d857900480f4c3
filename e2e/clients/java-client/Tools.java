// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

import java.io.BufferedReader;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.lang.reflect.InvocationTargetException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.atomic.AtomicReference;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.apache.kafka.common.utils.Exit;

/**
 * Runs Kafka's command-line tools, many in one JVM, whose start would cost more than they do. The commands come from the
 * standard input, one a line: a class in org.apache.kafka.tools, or in kafka (kafka.admin.ConfigCommand), and its arguments.
 * Lines that begin with "> " after a command are its standard input.
 *
 * <p>It prints each command with what it prints and, if it fails, its exit code and which of Kafka's errors it names. What it
 * prints on its standard error is left out.
 */
final class Tools {
  private static final Pattern ERROR = Pattern.compile("org\\.apache\\.kafka\\.common\\.errors\\.(\\w+)");

  /** Ends a command. Some catch it and exit once more: the first code is what they meant. */
  private static final class Exited extends RuntimeException {
    private static final long serialVersionUID = 1;
  }

  private static final class Command {
    private final String line;
    private final StringBuilder input = new StringBuilder();

    Command(String line) {
      this.line = line;
    }
  }

  public static void main(String[] args) throws Exception {
    List<Runnable> hooks = new ArrayList<>();
    Exit.setShutdownHookAdder((name, hook) -> hooks.add(hook));
    PrintStream out = System.out;
    for (Command command : read(System.in)) {
      out.println("$ " + command.line);
      ByteArrayOutputStream printed = new ByteArrayOutputStream();
      ByteArrayOutputStream errors = new ByteArrayOutputStream();
      System.setIn(new ByteArrayInputStream(command.input.toString().getBytes(StandardCharsets.UTF_8)));
      System.setOut(new PrintStream(printed, true, StandardCharsets.UTF_8));
      System.setErr(new PrintStream(errors, true, StandardCharsets.UTF_8));
      int code = run(command.line.split(" "));
      hooks.forEach(Runnable::run); // a producer sends what it has left only when it is closed there
      hooks.clear();
      out.print(printed.toString(StandardCharsets.UTF_8));
      if (code != 0) {
        Matcher error = ERROR.matcher(printed.toString(StandardCharsets.UTF_8) + errors.toString(StandardCharsets.UTF_8));
        out.println("(exits with " + code + (error.find() ? ": " + error.group(1) : "") + ")");
      }
      out.println();
      out.flush();
    }
    Runtime.getRuntime().halt(0); // some leave threads behind
  }

  private static List<Command> read(InputStream in) throws Exception {
    List<Command> commands = new ArrayList<>();
    BufferedReader lines = new BufferedReader(new InputStreamReader(in, StandardCharsets.UTF_8));
    for (String line = lines.readLine(); line != null; line = lines.readLine()) {
      if (line.startsWith("> ")) {
        commands.get(commands.size() - 1).input.append(line, 2, line.length()).append('\n');
      } else {
        commands.add(new Command(line));
      }
    }
    return commands;
  }

  private static int run(String[] command) throws ReflectiveOperationException {
    AtomicReference<Integer> exit = new AtomicReference<>();
    Exit.Procedure procedure = (code, message) -> {
      exit.compareAndSet(null, code);
      throw new Exited();
    };
    Exit.setExitProcedure(procedure);
    Exit.setHaltProcedure(procedure);
    String name = command[0].startsWith("kafka.") ? command[0] : "org.apache.kafka.tools." + command[0];
    try {
      Class.forName(name).getMethod("main", String[].class)
          .invoke(null, (Object) Arrays.copyOfRange(command, 1, command.length));
    } catch (InvocationTargetException e) {
      if (!(e.getCause() instanceof Exited)) {
        e.getCause().printStackTrace(); // as java does, and then exits with 1
        return 1;
      }
    }
    return exit.get() == null ? 0 : exit.get();
  }
}

// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

import java.util.concurrent.ExecutionException;

/** Prints what steps come to, one line each. */
final class Steps {
  private Steps() {}

  /** One step; what it returns is printed. */
  interface Step {
    Object run() throws Exception;
  }

  /** Runs a step. Of a failure the kind is printed: the words of a message are the server's own. */
  static void step(String name, Step step) {
    Object outcome;
    try {
      outcome = step.run();
    } catch (ExecutionException e) {
      outcome = e.getCause().getClass().getSimpleName();
    } catch (Exception e) {
      outcome = e.getClass().getSimpleName();
    }
    System.out.println(name + ": " + outcome);
  }
}

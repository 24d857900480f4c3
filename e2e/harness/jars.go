// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
)

// ErrNoJava says that this machine lacks what Kafka's own programs need: java, and mvn, which fetches them.
var ErrNoJava = errors.New("harness: java or mvn is missing")

// Jars are Kafka's broker and command-line tools.
type Jars struct{ classPath string }

// KafkaJars finds Kafka's programs in .cache/jvm at the root of the repository, where they are fetched from Maven Central
// when they are missing or the list of them, kafka/pom.xml, has changed. Without java or mvn the error is ErrNoJava.
func KafkaJars(ctx context.Context) (Jars, error) {
	if err := haveJava(); err != nil {
		return Jars{}, err
	}
	root, err := repository()
	if err != nil {
		return Jars{}, err
	}
	cmd := exec.CommandContext(ctx, filepath.Join(root, "e2e", "clients", "jvm", "class-path"), filepath.Join(root, "e2e", "harness", "kafka"))
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	classPath, err := cmd.Output()
	if err != nil {
		return Jars{}, fmt.Errorf("harness: fetching Kafka: %w\n%s", err, stderr.String())
	}
	return Jars{strings.TrimSpace(string(classPath))}, nil
}

func haveJava() error {
	for _, tool := range []string{"java", "mvn"} {
		if _, err := exec.LookPath(tool); err != nil {
			return fmt.Errorf("%w: %w", ErrNoJava, err)
		}
	}
	return nil
}

// java returns the arguments of java that run a class with a heap ("512m") and the JVM's flags of Kafka's start
// scripts (kafka-run-class.sh). Their defaults for logs are replaced: they go to the standard output.
func (j Jars) java(heap, logLevel, class string, args ...string) []string {
	return append([]string{
		"-Xmx" + heap, "-server", "-XX:+UseG1GC", "-XX:MaxGCPauseMillis=20", "-XX:InitiatingHeapOccupancyPercent=35",
		"-XX:+ExplicitGCInvokesConcurrent", "-Djava.awt.headless=true",
		"-Dorg.apache.logging.log4j.level=" + logLevel, "-cp", j.classPath, class,
	}, args...)
}

// Tool runs one of Kafka's tools, named by its class in org.apache.kafka.tools, as its script in bin/ would.
func (j Jars) Tool(ctx context.Context, class string, args ...string) *exec.Cmd {
	return exec.CommandContext(ctx, "java", j.java("512m", "ERROR", "org.apache.kafka.tools."+class, args...)...)
}

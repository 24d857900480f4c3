// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
)

// classPathPlugin writes a project's class path into a file.
const classPathPlugin = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1:build-classpath"

// ErrNoJava says that this machine lacks what Kafka's own programs need: java, and mvn, which fetches them.
var ErrNoJava = errors.New("harness: java or mvn is missing")

// Jars are Kafka's broker and command-line tools.
type Jars struct{ classPath string }

// KafkaJars finds Kafka's programs in .cache/kafka at the root of the repository, where they are fetched from Maven
// Central when they are missing or the list of them, kafka/pom.xml, has changed. Without java or mvn the error is
// ErrNoJava.
func KafkaJars(ctx context.Context) (Jars, error) {
	if err := haveJava(); err != nil {
		return Jars{}, err
	}
	root, err := repository()
	if err != nil {
		return Jars{}, err
	}
	cache, pom := filepath.Join(root, ".cache", "kafka"), filepath.Join(root, "e2e", "harness", "kafka", "pom.xml")
	unlock, err := lockFolder(cache)
	if err != nil {
		return Jars{}, err
	}
	defer unlock()
	file := filepath.Join(cache, "class-path")
	if !newer(file, pom) {
		if err := fetchJars(ctx, pom, cache, file); err != nil {
			return Jars{}, err
		}
	}
	classPath, err := os.ReadFile(file)
	if err != nil {
		return Jars{}, fmt.Errorf("harness: %w", err)
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

// lockFolder makes a folder and keeps other processes, which test in parallel, out of it until unlock is called: Maven
// gives no order to those who fetch into one repository.
func lockFolder(dir string) (unlock func(), err error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("harness: %w", err)
	}
	lock, err := os.Create(filepath.Join(dir, "lock"))
	if err != nil {
		return nil, fmt.Errorf("harness: %w", err)
	}
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
		lock.Close()
		return nil, fmt.Errorf("harness: locking %s: %w", dir, err)
	}
	return func() { lock.Close() }, nil // which lets go of the lock
}

// newer tells whether a file exists and is not older than the one that it is made from.
func newer(file, source string) bool {
	made, err := os.Stat(file)
	if err != nil {
		return false
	}
	from, err := os.Stat(source)
	return err == nil && !made.ModTime().Before(from.ModTime())
}

// fetchJars writes the class path last, so that a fetch that was cut off is begun again.
func fetchJars(ctx context.Context, pom, cache, file string) error {
	fetched := file + ".new"
	cmd := exec.CommandContext(ctx, "mvn", "--quiet", "--batch-mode", "--file", pom,
		"-Dmaven.repo.local="+filepath.Join(cache, "repository"), classPathPlugin, "-Dmdep.outputFile="+fetched)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("harness: fetching Kafka: %w\n%s", err, out)
	}
	if err := os.Rename(fetched, file); err != nil {
		return fmt.Errorf("harness: %w", err)
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

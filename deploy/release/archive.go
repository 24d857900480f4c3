// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"archive/tar"
	"cmp"
	"compress/gzip"
	"crypto/sha256"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// entry is one file of an archive: what data holds, or where path is set, the file there.
type entry struct {
	name       string // slash-separated, below the archive's only folder
	data       []byte
	path       string
	executable bool
}

func (e entry) read() ([]byte, error) {
	if e.path == "" {
		return e.data, nil
	}
	return os.ReadFile(e.path)
}

// writeArchive writes a .tar.gz whose files lie in one folder, root's, in the order of their names. The time is
// every file's; nobody owns them, and the modes are the same whatever the umask was.
func writeArchive(file, root string, entries []entry, modified time.Time) error {
	out, err := os.Create(file)
	if err != nil {
		return fmt.Errorf("release: %w", err)
	}
	defer out.Close()
	compressed := gzip.NewWriter(out)
	archive := tar.NewWriter(compressed)
	if err := addEntries(archive, root, entries, modified); err != nil {
		return fmt.Errorf("release: %s: %w", filepath.Base(file), err)
	}
	for _, c := range []io.Closer{archive, compressed, out} {
		if err := c.Close(); err != nil {
			return fmt.Errorf("release: %s: %w", filepath.Base(file), err)
		}
	}
	return nil
}

func addEntries(archive *tar.Writer, root string, entries []entry, modified time.Time) error {
	sorted := slices.SortedFunc(slices.Values(entries), func(a, b entry) int { return cmp.Compare(a.name, b.name) })
	for _, e := range sorted {
		data, err := e.read()
		if err != nil {
			return err
		}
		header := &tar.Header{Name: path.Join(root, e.name), Size: int64(len(data)), Mode: 0o644, ModTime: modified, Format: tar.FormatUSTAR}
		if e.executable {
			header.Mode = 0o755
		}
		if err := archive.WriteHeader(header); err != nil {
			return err
		}
		if _, err := archive.Write(data); err != nil {
			return err
		}
	}
	return nil
}

// sumsFile is the name that sha256sum users expect.
const sumsFile = "SHA256SUMS"

// writeSums writes SHA256SUMS over the files of a folder, as sha256sum -c reads it.
func writeSums(dir string) error {
	files, err := os.ReadDir(dir) // sorted by name
	if err != nil {
		return fmt.Errorf("release: %w", err)
	}
	var sums strings.Builder
	for _, file := range files {
		data, err := os.ReadFile(filepath.Join(dir, file.Name()))
		if err != nil {
			return fmt.Errorf("release: %w", err)
		}
		fmt.Fprintf(&sums, "%x  %s\n", sha256.Sum256(data), file.Name())
	}
	if err := os.WriteFile(filepath.Join(dir, sumsFile), []byte(sums.String()), 0o644); err != nil {
		return fmt.Errorf("release: %w", err)
	}
	return nil
}

// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package embedded

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// failure is the first thing that went wrong with the disk, in a commit or behind
// the back of all commits: flushes, compactions. It is final. Nothing is
// acknowledged afterwards; what is there can still be read.
type failure struct {
	once  sync.Once
	made  chan struct{} // closed once cause is set
	cause error

	stopOnce sync.Once
	stopped  chan struct{} // closed when the log has failed: see [failStopFS]
}

func (f *failure) set(err error) {
	f.once.Do(func() {
		f.cause = err
		close(f.made)
	})
}

// err is nil as long as nothing failed.
func (f *failure) err() error {
	select {
	case <-f.made:
		return f.cause
	default:
		return nil
	}
}

// Infof, Errorf and Fatalf make it Pebble's logger. What matters of Infof and
// Errorf comes through the listener as well.
func (f *failure) Infof(string, ...any)  {}
func (f *failure) Errorf(string, ...any) {}

// Fatalf is how Pebble reports that it cannot keep its promises any more: a failed
// write of its manifest, say. It is meant to end the process. Here it returns, and
// Pebble goes on with the error that it reported, or as if there had been none;
// hence [pebbleStore.commitBatch] asks for the failure after a commit that says it
// succeeded.
func (f *failure) Fatalf(format string, args ...any) { f.set(fmt.Errorf(format, args...)) }

func (f *failure) listener() *pebble.EventListener {
	return &pebble.EventListener{
		BackgroundError: f.set,
		DataCorruption:  func(info pebble.DataCorruptionInfo) { f.set(fmt.Errorf("corrupt data: %s", info)) },
	}
}

// commitBatch commits, or reports the failure as soon as there is one: a commit
// waits for ever when the log failed (see [failStopFS]), or when memory is full
// and cannot be flushed. Of a commit under way at a failure it is not known
// whether it took place.
func (s *pebbleStore) commitBatch(batch *pebble.Batch) error {
	f := &s.failure
	s.committed = make(chan struct{})
	go func(committed chan<- struct{}) {
		defer close(committed)
		if err := batch.Commit(s.sync); err != nil {
			f.set(err)
		}
	}(s.committed)
	select {
	case <-s.committed:
	case <-f.made:
	}
	return f.err()
}

// stuckCommit is how long a commit may take to return after a failure.
const stuckCommit = time.Second

// errAbandoned says that a database is open, and its folder locked, until the
// process ends.
var errAbandoned = errors.New("database could not be closed")

// closeDatabase closes the database, or leaves it alone when the closing would
// wait for ever: for a commit under way, or for the log. What is in its files needs
// no closing to last.
func (s *pebbleStore) closeDatabase() error {
	f := &s.failure
	if f.err() != nil {
		select {
		case <-s.committed:
		case <-f.stopped:
			return errors.Join(f.err(), errAbandoned)
		case <-time.After(stuckCommit):
			return errors.Join(f.err(), errAbandoned)
		}
	}
	closed := make(chan error, 1)
	go func() { closed <- s.db.Close() }()
	select {
	case err := <-closed:
		return errors.Join(err, f.err(), s.lock.Close())
	case <-f.stopped:
		return errors.Join(f.err(), errAbandoned)
	}
}

// failStopFS keeps from Pebble that its log failed, which it answers with a panic
// whose way out ends the process. An operation on the log that fails does not
// return; what waits for it, waits for ever, in goroutines that are not missed.
type failStopFS struct {
	vfs.FS
	failure *failure
	opened  *atomic.Bool // before, errors are returned: there is nobody to panic
}

// stop returns nil or, while the database is being opened, err.
func (fs failStopFS) stop(err error) error {
	if err != nil && fs.opened.Load() {
		fs.failure.set(err)
		fs.failure.stopOnce.Do(func() { close(fs.failure.stopped) })
		select {}
	}
	return err
}

// Unwrap returns the file system below.
func (fs failStopFS) Unwrap() vfs.FS { return fs.FS }

func (fs failStopFS) Create(name string, category vfs.DiskWriteCategory) (vfs.File, error) {
	return fs.log(name)(fs.FS.Create(name, category))
}

func (fs failStopFS) ReuseForWrite(from, to string, category vfs.DiskWriteCategory) (vfs.File, error) {
	return fs.log(to)(fs.FS.ReuseForWrite(from, to, category))
}

// log returns what becomes of a file just made.
func (fs failStopFS) log(name string) func(vfs.File, error) (vfs.File, error) {
	return func(f vfs.File, err error) (vfs.File, error) {
		if !strings.HasSuffix(name, ".log") {
			return f, err
		}
		if err := fs.stop(err); err != nil {
			return nil, err
		}
		return failStopFile{File: f, fs: fs}, nil
	}
}

type failStopFile struct {
	vfs.File
	fs failStopFS
}

func (f failStopFile) Write(b []byte) (int, error) {
	n, err := f.File.Write(b)
	return n, f.fs.stop(err)
}

func (f failStopFile) WriteAt(b []byte, offset int64) (int, error) {
	n, err := f.File.WriteAt(b, offset)
	return n, f.fs.stop(err)
}

func (f failStopFile) Sync() error     { return f.fs.stop(f.File.Sync()) }
func (f failStopFile) SyncData() error { return f.fs.stop(f.File.SyncData()) }
func (f failStopFile) Close() error    { return f.fs.stop(f.File.Close()) }

func (f failStopFile) Preallocate(offset, length int64) error {
	return f.fs.stop(f.File.Preallocate(offset, length))
}

func (f failStopFile) SyncTo(length int64) (fullSync bool, err error) {
	fullSync, err = f.File.SyncTo(length)
	return fullSync, f.fs.stop(err)
}

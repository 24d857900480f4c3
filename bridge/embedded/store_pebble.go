// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package embedded

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// ErrFolderInUse: another server has the data folder.
var ErrFolderInUse = errors.New("folder in use")

// The keys of the database, all numbers big endian so that keys sort like them:
//
//	'a'                                                  the format of the database
//	'c' record key                                       a record of the catalogue
//	'm' incarnation u64 | partition u32 | base u64       an entry of a log
//
// and the value of an entry, little endian like the messages in it:
//
//	count u32 | timestamp u64 | size u64 | messages
//
// where size counts the messages' bytes of the log up to and with this entry.
// The last entry of a log thus says all that there is to know at a start, however
// many messages lie before it. A send of more than pieceSize bytes is several
// entries, written in one batch: a poll reads whole entries, however little it asks for.
const (
	formatKey       = 'a'
	format          = "1"
	recordPrefix    = 'c'
	entryPrefix     = 'm'
	entryKeySize    = 1 + 8 + 4 + 8
	entryHeaderSize = 4 + 8 + 8
)

// pieceSize is how many bytes of messages an entry has at most, unless it is a single one.
const pieceSize = 64 << 10

// maxCommitBytes bounds how much is gathered for one commit; what arrives beyond
// it waits for the next.
const maxCommitBytes = 32 << 20

// keptBatchBytes is how much of a commit's memory is kept for the next one.
const keptBatchBytes = 8 << 20

// errStoreClosed is given to writes handed over after close.
var errStoreClosed = errors.New("store is closed")

// pebbleStore keeps records and logs in a Pebble database. One goroutine commits:
// while it waits for the disk, writes of all partitions gather and go out
// together with the next sync. The first failure is final, because what was
// given offsets behind the failed write must not be kept without it.
type pebbleStore struct {
	db      *pebble.DB
	lock    *pebble.Lock // of the folder
	sync    *pebble.WriteOptions
	failure failure
	chunks  sync.Pool // of *chunk: what polls are answered with

	mu     sync.Mutex
	wake   sync.Cond // queue or closed changed
	queue  []pendingWrite
	closed bool

	// committed is closed when the latest commit has returned. It belongs to the
	// goroutine that commits, and to close after that.
	committed  chan struct{}
	committing sync.WaitGroup
}

// pendingWrite is one change of a log or of the catalogue, or one of both that
// belong together.
type pendingWrite struct {
	log   logID
	cut   offsetRange // entries of log to delete, before entry is added
	entry entry       // count 0: none
	edit  edit
	done  func(error)
}

// offsetRange is the offsets from one up to below another.
type offsetRange struct{ from, to uint64 }

// Sizes of the database's memory, in bytes. The newest messages are read from the
// memory table, older ones through the cache.
const (
	memoryTableSize = 32 << 20
	cacheSize       = 64 << 20
)

// deletionDelay is how long a deletion of many messages may stay in memory, where
// it brings back no space on the disk.
const deletionDelay = time.Second

// openPebble opens the store in a folder of fs. With durable, a write is done
// when it is on the disk, else when Pebble has it in memory.
func openPebble(fs vfs.FS, dir string, durable bool) (store, error) {
	if err := makeFolder(fs, dir); err != nil {
		return nil, err
	}
	lock, err := pebble.LockDirectory(dir, fs)
	if err != nil {
		if errors.Is(err, os.ErrPermission) {
			return nil, err
		}
		return nil, fmt.Errorf("%w: %w", ErrFolderInUse, err)
	}
	s := &pebbleStore{lock: lock, sync: pebble.Sync, failure: failure{made: make(chan struct{}), stopped: make(chan struct{})}}
	s.chunks.New = func() any { return new(chunk) }
	if !durable {
		s.sync = pebble.NoSync
	}
	s.committed = make(chan struct{})
	close(s.committed)
	var opened atomic.Bool
	s.db, err = pebble.Open(dir, &pebble.Options{
		FS:                    failStopFS{FS: fs, failure: &s.failure, opened: &opened},
		Lock:                  lock,
		FormatMajorVersion:    pebble.FormatNewest,
		Logger:                &s.failure,
		EventListener:         s.failure.listener(),
		MemTableSize:          memoryTableSize,
		CacheSize:             cacheSize,
		FlushDelayDeleteRange: deletionDelay,
	})
	if err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	s.wake.L = &s.mu
	if err := s.checkFormat(); err != nil {
		return nil, errors.Join(err, s.db.Close(), lock.Close())
	}
	opened.Store(true)
	s.committing.Go(s.run)
	return s, nil
}

// makeFolder creates a folder in such a way that it, and what is synced in it
// later, outlasts a power failure.
func makeFolder(fs vfs.FS, dir string) error {
	if err := fs.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	parent, err := fs.OpenDir(fs.PathDir(dir))
	if err != nil {
		return err
	}
	return errors.Join(parent.Sync(), parent.Close())
}

// checkFormat refuses a database laid out by a version to come, and marks a new one.
func (s *pebbleStore) checkFormat() error {
	value, closer, err := s.db.Get([]byte{formatKey})
	if errors.Is(err, pebble.ErrNotFound) {
		return s.db.Set([]byte{formatKey}, []byte(format), pebble.Sync)
	}
	if err != nil {
		return err
	}
	defer closer.Close()
	if string(value) != format {
		return fmt.Errorf("data has format %q, this server knows %q", value, format)
	}
	return nil
}

func (s *pebbleStore) load() ([]record, error) {
	it, err := s.db.NewIter(&pebble.IterOptions{
		LowerBound: []byte{recordPrefix}, UpperBound: []byte{recordPrefix + 1},
	})
	if err != nil {
		return nil, err
	}
	var records []record
	for it.First(); it.Valid(); it.Next() {
		value, err := it.ValueAndErr()
		if err != nil {
			return nil, errors.Join(err, it.Close())
		}
		records = append(records, record{key: string(it.Key()[1:]), value: bytes.Clone(value)})
	}
	return records, it.Close()
}

func (s *pebbleStore) open(id logID) (messageLog, entry, error) {
	log := &pebbleLog{store: s, id: id}
	var last entry
	err := log.iterate(func(it *pebble.Iterator) error {
		if !it.Last() {
			return nil
		}
		var err error
		last, err = readEntry(it)
		last.messages = nil
		return err
	})
	return log, last, err
}

// create looks at nothing: an earlier log's entries may still be waiting in the
// queue for the commit that drops them.
func (s *pebbleStore) create(id logID) messageLog { return &pebbleLog{store: s, id: id} }

func (s *pebbleStore) commit(e edit, done func(error)) {
	s.enqueue(pendingWrite{edit: e, done: done})
}

func (s *pebbleStore) enqueue(w pendingWrite) {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		w.done(errStoreClosed)
		return
	}
	s.queue = append(s.queue, w)
	s.mu.Unlock()
	s.wake.Signal()
}

func (s *pebbleStore) close() error {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.wake.Signal()
	s.committing.Wait()
	return s.closeDatabase()
}

// run commits what is queued until the store is closed and the queue is empty.
func (s *pebbleStore) run() {
	batch := s.db.NewBatch(pebble.WithMaxRetainedSizeBytes(keptBatchBytes))
	for {
		writes := s.next()
		if len(writes) == 0 {
			break
		}
		err := s.failure.err()
		if err == nil {
			err = s.write(batch, writes)
		}
		for _, w := range writes {
			w.done(err)
		}
		clear(writes) // the queue's memory outlives them
	}
	if s.failure.err() == nil { // else a commit may still be using it
		batch.Close()
	}
}

// next waits for writes and takes those of one commit; none after close.
func (s *pebbleStore) next() []pendingWrite {
	s.mu.Lock()
	defer s.mu.Unlock()
	for len(s.queue) == 0 && !s.closed {
		s.wake.Wait()
	}
	size, n := 0, 0
	for n < len(s.queue) && (n == 0 || size+len(s.queue[n].entry.messages) <= maxCommitBytes) {
		size += len(s.queue[n].entry.messages)
		n++
	}
	writes := s.queue[:n:n]
	s.queue = s.queue[n:]
	return writes
}

func (s *pebbleStore) write(batch *pebble.Batch, writes []pendingWrite) error {
	batch.Reset()
	for i := range writes {
		if err := addWrite(batch, &writes[i]); err != nil {
			s.failure.set(err)
			return err
		}
	}
	return s.commitBatch(batch)
}

func addWrite(batch *pebble.Batch, w *pendingWrite) error {
	if w.cut.from < w.cut.to {
		from, to := appendEntryKey(nil, w.log, w.cut.from), appendEntryKey(nil, w.log, w.cut.to)
		if err := batch.DeleteRange(from, to, nil); err != nil {
			return err
		}
	}
	for rest := w.entry; rest.count > 0; {
		piece, err := rest.split(pieceSize)
		if err != nil {
			return err
		}
		op := batch.SetDeferred(entryKeySize, entryHeaderSize+len(piece.messages))
		appendEntryKey(op.Key[:0], w.log, piece.base)
		appendEntry(op.Value[:0], &piece)
		if err := op.Finish(); err != nil {
			return err
		}
	}
	for _, r := range w.edit.records {
		key := append([]byte{recordPrefix}, r.key...)
		var err error
		if r.value == nil {
			err = batch.Delete(key, nil)
		} else {
			err = batch.Set(key, r.value, nil)
		}
		if err != nil {
			return err
		}
	}
	for _, d := range w.edit.dropped {
		from := appendEntryKey(nil, logID{incarnation: d.incarnation, partition: d.from}, 0)
		to := appendEntryKey(nil, logID{incarnation: d.incarnation + 1}, 0)
		if err := batch.DeleteRange(from, to, nil); err != nil {
			return err
		}
	}
	return nil
}

func appendEntryKey(dst []byte, id logID, base uint64) []byte {
	dst = append(dst, entryPrefix)
	dst = binary.BigEndian.AppendUint64(dst, id.incarnation)
	dst = binary.BigEndian.AppendUint32(dst, id.partition)
	return binary.BigEndian.AppendUint64(dst, base)
}

func appendEntry(dst []byte, e *entry) []byte {
	dst = binary.LittleEndian.AppendUint32(dst, e.count)
	dst = binary.LittleEndian.AppendUint64(dst, e.timestamp)
	dst = binary.LittleEndian.AppendUint64(dst, e.size)
	return append(dst, e.messages...)
}

// readEntry reads the entry that it stands on; its messages are the iterator's
// memory until that moves.
func readEntry(it *pebble.Iterator) (entry, error) {
	key := it.Key()
	value, err := it.ValueAndErr()
	if err != nil {
		return entry{}, err
	}
	if len(key) != entryKeySize || len(value) < entryHeaderSize {
		return entry{}, fmt.Errorf("key %x with %d bytes: %w", key, len(value), errBadEntry)
	}
	e := entry{
		base:      binary.BigEndian.Uint64(key[entryKeySize-8:]),
		count:     binary.LittleEndian.Uint32(value),
		timestamp: binary.LittleEndian.Uint64(value[4:]),
		size:      binary.LittleEndian.Uint64(value[12:]),
		messages:  value[entryHeaderSize:],
	}
	if e.count == 0 {
		return entry{}, fmt.Errorf("key %x without messages: %w", key, errBadEntry)
	}
	return e, nil
}

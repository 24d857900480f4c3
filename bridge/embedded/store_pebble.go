// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package embedded

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"sync"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
)

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
// many messages lie before it.
const (
	formatKey       = 'a'
	format          = "1"
	recordPrefix    = 'c'
	entryPrefix     = 'm'
	entryKeySize    = 1 + 8 + 4 + 8
	entryHeaderSize = 4 + 8 + 8
)

// maxCommitBytes bounds how much is gathered for one commit; what arrives beyond
// it waits for the next.
const maxCommitBytes = 32 << 20

// errStoreClosed is given to writes handed over after close.
var errStoreClosed = errors.New("store is closed")

// pebbleStore keeps records and logs in a Pebble database. One goroutine commits:
// while it waits for the disk, writes of all partitions gather and go out
// together with the next sync. The first failure is final, because what was
// given offsets behind the failed write must not be kept without it.
type pebbleStore struct {
	db   *pebble.DB
	lock *pebble.Lock // of the folder
	sync *pebble.WriteOptions

	mu     sync.Mutex
	wake   sync.Cond // queue or closed changed
	queue  []pendingWrite
	closed bool

	committing sync.WaitGroup
}

// pendingWrite is one append or one change of the catalogue.
type pendingWrite struct {
	log   logID
	entry entry // count 0: none
	edit  edit
	done  func(error)
}

// Sizes of the database's memory, in bytes. The newest messages are read from the
// memory table, older ones through the cache.
const (
	memoryTableSize = 32 << 20
	cacheSize       = 64 << 20
)

// openPebble opens the store in a folder of fs. With durable, a write is done
// when it is on the disk, else when Pebble has it in memory.
func openPebble(fs vfs.FS, dir string, durable bool) (store, error) {
	if err := makeFolder(fs, dir); err != nil {
		return nil, err
	}
	lock, err := pebble.LockDirectory(dir, fs)
	if err != nil {
		return nil, fmt.Errorf("folder in use: %w", err)
	}
	db, err := pebble.Open(dir, &pebble.Options{
		FS:                 fs,
		Lock:               lock,
		FormatMajorVersion: pebble.FormatNewest,
		Logger:             quietLogger{},
		MemTableSize:       memoryTableSize,
		CacheSize:          cacheSize,
	})
	if err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	s := &pebbleStore{db: db, lock: lock, sync: pebble.Sync}
	if !durable {
		s.sync = pebble.NoSync
	}
	s.wake.L = &s.mu
	if err := s.checkFormat(); err != nil {
		return nil, errors.Join(err, db.Close(), lock.Close())
	}
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
	return errors.Join(s.db.Close(), s.lock.Close())
}

// run commits what is queued until the store is closed and the queue is empty.
func (s *pebbleStore) run() {
	batch := s.db.NewBatch()
	defer batch.Close()
	var failure error
	for {
		writes := s.next()
		if len(writes) == 0 {
			return
		}
		if failure == nil {
			failure = s.write(batch, writes)
		}
		for _, w := range writes {
			w.done(failure)
		}
		clear(writes) // the queue's memory outlives them
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
			return err
		}
	}
	return batch.Commit(s.sync)
}

func addWrite(batch *pebble.Batch, w *pendingWrite) error {
	if w.entry.count > 0 {
		op := batch.SetDeferred(entryKeySize, entryHeaderSize+len(w.entry.messages))
		appendEntryKey(op.Key[:0], w.log, w.entry.base)
		appendEntry(op.Value[:0], &w.entry)
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

// pebbleLog is the entries of one log in the database.
type pebbleLog struct {
	store *pebbleStore
	id    logID
}

func (l *pebbleLog) append(e entry, done func(error)) {
	l.store.enqueue(pendingWrite{log: l.id, entry: e, done: done})
}

// iterate calls f with an iterator over the log's entries.
func (l *pebbleLog) iterate(f func(*pebble.Iterator) error) error {
	it, err := l.store.db.NewIter(&pebble.IterOptions{
		LowerBound: appendEntryKey(nil, l.id, 0),
		UpperBound: appendEntryKey(nil, logID{l.id.incarnation, l.id.partition + 1}, 0),
	})
	if err != nil {
		return err
	}
	return errors.Join(f(it), it.Close())
}

// seek puts it on the entry that holds offset.
func (l *pebbleLog) seek(it *pebble.Iterator, offset uint64) (entry, error) {
	if !it.SeekLT(appendEntryKey(nil, l.id, offset+1)) {
		return entry{}, l.missing(it, offset)
	}
	e, err := readEntry(it)
	if err == nil && offset >= e.end() {
		err = l.missing(it, offset)
	}
	return e, err
}

func (l *pebbleLog) missing(it *pebble.Iterator, offset uint64) error {
	if err := it.Error(); err != nil {
		return err
	}
	return fmt.Errorf("offset %d of partition %d, incarnation %d: %w", offset, l.id.partition, l.id.incarnation, errBadEntry)
}

func (l *pebbleLog) read(from, end uint64, count uint32) (out [][]byte, n uint32, err error) {
	if limit := end - from; uint64(count) > limit {
		count = uint32(limit)
	}
	err = l.iterate(func(it *pebble.Iterator) error {
		e, err := l.seek(it, from)
		for left := count; err == nil; e, err = readEntry(it) {
			part, n, err := cut(e.messages, e.base, e.end(), from, left)
			if err != nil {
				return err
			}
			out = appendPart(out, part)
			from += uint64(n)
			left -= n
			if left == 0 {
				return nil
			}
			if !it.Next() {
				return l.missing(it, from)
			}
		}
		return err
	})
	return out, count, err
}

func (l *pebbleLog) truncate(end uint64) (lost uint64, err error) {
	batch := l.store.db.NewBatch()
	defer batch.Close()
	err = l.iterate(func(it *pebble.Iterator) error {
		if !it.Last() {
			return it.Error()
		}
		last, err := readEntry(it)
		if err != nil {
			return err
		}
		lost = last.size
		from, to := appendEntryKey(nil, l.id, end), appendEntryKey(nil, logID{l.id.incarnation, l.id.partition + 1}, 0)
		if err := batch.DeleteRange(from, to, nil); err != nil || end == 0 {
			return err
		}
		e, err := l.seek(it, end-1)
		if err != nil {
			return err
		}
		part, count, err := cut(e.messages, e.base, e.end(), e.base, uint32(end-e.base))
		if err != nil {
			return err
		}
		e.size -= uint64(len(e.messages) - len(part))
		e.messages, e.count = part, count
		lost -= e.size
		return addWrite(batch, &pendingWrite{log: l.id, entry: e})
	})
	if err != nil {
		return 0, err
	}
	return lost, batch.Commit(l.store.sync)
}

// appendPart copies part behind the last of parts, or into memory of its own
// when there is no room. A poll of small entries thus becomes a few pieces, one
// of a single entry takes no more memory than the entry.
func appendPart(parts [][]byte, part []byte) [][]byte {
	last := len(parts) - 1
	if last >= 0 && cap(parts[last])-len(parts[last]) >= len(part) {
		parts[last] = append(parts[last], part...)
		return parts
	}
	size := len(part)
	if last >= 0 {
		size = max(size, chunkSize)
	}
	return append(parts, append(make([]byte, 0, size), part...))
}

// find looks at one entry per step: all messages of an entry came at one time.
func (l *pebbleLog) find(timestamp, end uint64) (uint64, error) {
	low := uint64(0)
	err := l.iterate(func(it *pebble.Iterator) error {
		for high := end; low < high; {
			e, err := l.seek(it, low+(high-low)/2)
			if err != nil {
				return err
			}
			if e.timestamp >= timestamp {
				high = e.base
			} else {
				low = e.end()
			}
		}
		return nil
	})
	return low, err
}

// quietLogger drops what Pebble says about itself. Fatalf is how Pebble reports
// that it cannot keep its promises any more (a failed write of its log); it must
// not return, and no server must go on answering after it.
type quietLogger struct{}

func (quietLogger) Infof(string, ...any)  {}
func (quietLogger) Errorf(string, ...any) {}
func (quietLogger) Fatalf(format string, args ...any) {
	panic("embedded: store failed: " + fmt.Sprintf(format, args...))
}

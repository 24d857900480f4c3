// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package bridge

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/iggy-kafka/iggy-kafka/bridge/iggywire"
)

// TopicID is a Kafka topic id, a UUID. It is made from the Iggy stream's id, the topic's id and its creation time:
// Iggy gives numbers out again, so a topic that was deleted and made again has another id. It is never zero.
type TopicID [16]byte

// Topic is one incarnation of an Iggy topic as Kafka clients see it. It does not change: growing a topic makes
// another value with the same ID.
//
// Iggy is told names, and nothing that is sent to it can be bound to an incarnation. What this gateway deletes is gone for
// its lanes and fetches at once. When others delete a topic and make another one of its name, that is noticed by whoever
// asks where the old one's partitions end, by a write that goes before where they ended, and at the latest by the next
// TopicView: ErrTopicNotFound then, also for a write that reached the new topic, where a repetition of an idempotent
// producer finds it. Within Config.TopicViewAge, a write or a poll whose offsets fit both is the new topic's.
type Topic struct {
	Name       string // Kafka's
	ID         TopicID
	Partitions int32
	Internal   bool // readable for clients, not writable
	Iggy       IggyName

	// MessageExpiry (µs) and MaxSize (bytes, all partitions) as Iggy reports them; iggywire has the special values.
	MessageExpiry, MaxSize uint64
	// Size (bytes, all partitions) and Messages (those kept) as Iggy reported them when the value was made.
	Size, Messages uint64

	stream    uint32 // Iggy's number of the stream
	number    uint32 // Iggy's number of the topic in it
	createdAt uint64
}

// Numbers are what Iggy numbers the topic's stream and, within it, the topic with: permissions name them so.
func (t *Topic) Numbers() (stream, topic uint32) { return t.stream, t.number }

// is reports that what Iggy tells of a topic of that name is about this incarnation.
func (t *Topic) is(told *iggywire.Topic) bool {
	return told.ID == t.number && told.CreatedAt == t.createdAt
}

// TopicView is all topics at one moment. It does not change.
type TopicView struct {
	Topics []*Topic // by name
	Hidden int      // Iggy topics left out because Kafka does not allow their names

	byName    map[string]*Topic
	byID      map[TopicID]*Topic
	collision map[string]string // collisionKey -> name
	streams   map[string]uint32 // Iggy's number of each stream
	names     *Names
}

// ByName finds a topic by its Kafka name.
func (v *TopicView) ByName(name string) (*Topic, bool) {
	t, ok := v.byName[name]
	return t, ok
}

// ByID finds a topic by its id.
func (v *TopicView) ByID(id TopicID) (*Topic, bool) {
	t, ok := v.byID[id]
	return t, ok
}

// Colliding finds a topic whose name equals name but for '.' and '_', which Kafka does not let exist beside it
// because its metrics could not tell them apart. The topic of that very name does not collide.
func (v *TopicView) Colliding(name string) (other string, ok bool) {
	other, ok = v.collision[CollisionKey(name)]
	return other, ok && other != name
}

// StreamOf is Iggy's number of the stream in which the topic of that Kafka name lives, or would if there were one; ok is
// false when there is no such stream.
func (v *TopicView) StreamOf(name string) (number uint32, ok bool) {
	if v.names == nil {
		return 0, false
	}
	number, ok = v.streams[v.names.ToIggy(name).Stream]
	return number, ok
}

// CollisionKey is the same for two names that collide.
func CollisionKey(name string) string { return strings.ReplaceAll(name, ".", "_") }

// topicView keeps the newest TopicView for a short while.
type topicView struct {
	b      *Bridge
	reload sharedCall[*TopicView]

	mu       sync.Mutex
	current  *TopicView
	asOf     time.Time // when current was asked for
	outdated int       // rises with each change that this gateway makes
	// Of the newest view, kept also when current is dropped.
	streams        map[string]uint32
	topics, hidden int
}

func (v *topicView) init(b *Bridge) {
	v.b = b
	v.reload = sharedCall[*TopicView]{owner: b.owner, load: v.load}
}

// Topics returns the topics, at most Config.TopicViewAge old, and never older than a change made through this
// bridge that has been confirmed.
func (b *Bridge) Topics(ctx context.Context) (*TopicView, error) {
	return b.TopicsWithin(ctx, b.cfg.TopicViewAge)
}

// TopicsNow returns the newest view without waiting for Iggy, however old, and nil when there is none or a change made it
// void. When it is older than Config.TopicViewAge, a newer one is asked for meanwhile.
func (b *Bridge) TopicsNow() *TopicView {
	v := &b.view
	v.mu.Lock()
	current, old := v.current, time.Since(v.asOf) > b.cfg.TopicViewAge
	v.mu.Unlock()
	if old {
		v.reload.start()
	}
	return current
}

// TopicsWithin is Topics with another age.
func (b *Bridge) TopicsWithin(ctx context.Context, age time.Duration) (*TopicView, error) {
	v := &b.view
	v.mu.Lock()
	current, fresh := v.current, time.Since(v.asOf) <= age
	v.mu.Unlock()
	if current != nil && fresh {
		return current, nil
	}
	return v.reload.do(ctx)
}

// drop makes the next look ask Iggy.
func (v *topicView) drop() {
	v.mu.Lock()
	v.current = nil
	v.outdated++
	v.mu.Unlock()
}

func (v *topicView) load(ctx context.Context) (*TopicView, error) {
	v.b.counts.refreshes.Add(1)
	view, err := v.askIggy(ctx)
	if err != nil {
		v.b.counts.failedRefreshes.Add(1)
	}
	return view, err
}

func (v *topicView) askIggy(ctx context.Context) (*TopicView, error) {
	ctx, cancel := context.WithTimeout(ctx, v.b.cfg.CallTimeout)
	defer cancel()
	v.mu.Lock()
	asked, outdated := time.Now(), v.outdated
	v.mu.Unlock()

	view := &TopicView{
		byName: map[string]*Topic{}, byID: map[TopicID]*Topic{}, collision: map[string]string{}, streams: map[string]uint32{},
		names: v.b.cfg.Names,
	}
	for _, stream := range v.b.cfg.Names.Streams() {
		details, found, err := v.b.getStream(ctx, stream)
		if err != nil {
			return nil, err
		}
		if !found {
			continue // deleted since the start: its topics do not exist
		}
		view.streams[stream] = details.ID
		for i := range details.TopicList {
			view.add(v.b, &details.Stream, &details.TopicList[i])
		}
	}
	slices.SortFunc(view.Topics, func(a, b *Topic) int { return cmp.Compare(a.Name, b.Name) })
	v.b.states.keepOnly(view, asked)

	// A view asked for before a topic was created or deleted serves those who asked then, and is not kept.
	v.mu.Lock()
	v.streams, v.topics, v.hidden = view.streams, len(view.Topics), view.Hidden
	if outdated == v.outdated {
		v.current, v.asOf = view, asked
	}
	v.mu.Unlock()
	return view, nil
}

func (v *TopicView) add(b *Bridge, stream *iggywire.Stream, t *iggywire.Topic) {
	iggy := IggyName{Stream: stream.Name, Topic: t.Name}
	name, ok := b.cfg.Names.ToKafka(iggy)
	if !ok {
		v.Hidden++
		return
	}
	topic := b.newTopic(name, iggy, stream.ID, t)
	v.Topics = append(v.Topics, topic)
	v.byName[name], v.byID[topic.ID], v.collision[CollisionKey(name)] = topic, topic, name
}

func (b *Bridge) newTopic(name string, iggy IggyName, stream uint32, t *iggywire.Topic) *Topic {
	return &Topic{
		Name:          name,
		ID:            topicID(stream, t.ID, t.CreatedAt),
		Partitions:    int32(min(t.Partitions, iggywire.MaxPartitions)),
		Internal:      slices.Contains(b.cfg.InternalTopics, name),
		Iggy:          iggy,
		MessageExpiry: t.MessageExpiry,
		MaxSize:       t.MaxSize,
		Size:          t.Size,
		Messages:      t.Messages,
		stream:        stream,
		number:        t.ID,
		createdAt:     t.CreatedAt,
	}
}

// TopicSpec says what to create.
type TopicSpec struct {
	Name          string // Kafka's
	Partitions    int32
	MessageExpiry uint64 // µs, iggywire.ServerDefault or iggywire.NeverExpire
	MaxSize       uint64 // bytes, iggywire.ServerDefault or iggywire.UnlimitedSize
}

// MinTopicSize is one segment, in bytes, of a real server with its default settings: it refuses to make a smaller topic.
const MinTopicSize = 1 << 30

// TopicSize is the maximum size of a topic whose partitions may take so many bytes each; the special values stay as they are.
func TopicSize(partitionSize uint64, partitions int32) uint64 {
	if partitionSize == iggywire.UnlimitedSize || partitionSize > math.MaxUint64/uint64(max(partitions, 1)) {
		return iggywire.UnlimitedSize
	}
	return partitionSize * uint64(max(partitions, 1))
}

// CreateTopic makes a topic as s's user and returns it once it can be used. Errors: IsExists, IsTooManyPartitions,
// IsUnauthorized, and those of the way to Iggy.
func (b *Bridge) CreateTopic(ctx context.Context, s *Session, spec TopicSpec) (*Topic, error) {
	name := b.cfg.Names.ToIggy(spec.Name)
	req := iggywire.CreateTopic{
		Stream:            iggywire.NamedID(name.Stream),
		Partitions:        uint32(spec.Partitions),
		Compression:       iggywire.CompressionNone,
		MessageExpiry:     spec.MessageExpiry,
		MaxSize:           spec.MaxSize,
		ReplicationFactor: 1,
		Name:              name.Topic,
	}
	details, err := b.createTopic(ctx, s, req)
	if hasStatus(err, iggywire.StatusInvalidTopicSize) {
		req.MaxSize = max(spec.MaxSize, MinTopicSize)
		details, err = b.createTopic(ctx, s, req)
	}
	if err != nil {
		return nil, fmt.Errorf("bridge: create topic %q: %w", spec.Name, err)
	}
	stream, ok := b.streamNumber(name.Stream)
	if !ok {
		return nil, fmt.Errorf("bridge: create topic %q: %w", spec.Name, ErrTopicNotFound)
	}
	return b.newTopic(spec.Name, name, stream, &details.Topic), nil
}

func (b *Bridge) createTopic(ctx context.Context, s *Session, req iggywire.CreateTopic) (iggywire.TopicDetails, error) {
	a, err := b.change(ctx, s, req)
	if err != nil {
		return iggywire.TopicDetails{}, err
	}
	t, err := parse(a, maybe(iggywire.ParseTopicDetails))
	if err == nil && !t.ok {
		err = fmt.Errorf("%w: create topic answered nothing", ErrMalformed)
	}
	return t.value, err
}

// DefaultStream is Iggy's number of the stream in which topics live that no topic map names, and in which the gateway keeps
// its state; ok is false when it has been deleted.
func (b *Bridge) DefaultStream() (number uint32, ok bool) {
	return b.streamNumber(b.cfg.Names.defaultStream)
}

// streamNumber is the number that a stream had in the newest view.
func (b *Bridge) streamNumber(stream string) (uint32, bool) {
	b.view.mu.Lock()
	defer b.view.mu.Unlock()
	n, ok := b.view.streams[stream]
	return n, ok
}

// DeleteTopic deletes a topic and its messages as s's user. A topic of the same name that was made since t was looked
// up is another one, and stays.
func (b *Bridge) DeleteTopic(ctx context.Context, s *Session, t *Topic) error {
	now, found, err := b.getTopic(ctx, t.Iggy)
	switch {
	case err != nil:
		return err
	case !found || !t.is(&now.Topic):
		b.view.drop()
		b.states.forget(t.ID)
		return fmt.Errorf("bridge: delete topic %q: %w", t.Name, ErrTopicNotFound)
	}
	req := iggywire.DeleteTopic{Stream: iggywire.NamedID(t.Iggy.Stream), Topic: iggywire.NamedID(t.Iggy.Topic)}
	a, err := b.change(ctx, s, req)
	if err != nil {
		return fmt.Errorf("bridge: delete topic %q: %w", t.Name, err)
	}
	a.release()
	b.states.forget(t.ID)
	return nil
}

// change runs a command that alters topics. Whatever came of it, nobody may go on seeing the old view.
func (b *Bridge) change(ctx context.Context, s *Session, req iggywire.Request) (answer, error) {
	defer b.view.drop()
	a, err := ask(ctx, s.writes, req, false)
	unread := errors.Is(err, ErrConnectionLost) || errors.Is(err, ErrMalformed) || errors.Is(err, ErrAnswerTooLarge)
	if unread || IsTimeout(err) && !errors.Is(err, ErrUnavailable) {
		err = fmt.Errorf("%w: %w", ErrUnknownOutcome, err)
	}
	return a, err
}

func topicID(stream, topic uint32, createdAt uint64) TopicID {
	sum := identityHash("topic", stream, topic, createdAt)
	id := TopicID(sum[:16])
	id[6] = id[6]&0x0f | 0x80 // version 8: made from a hash
	id[8] = id[8]&0x3f | 0x80 // the RFC 9562 variant
	// Kafka never makes an id whose text begins with '-' (Uuid.randomUuid): tools would read it as an option.
	if idText(id[:])[0] == '-' {
		id[0] ^= 0x80
	}
	return id
}

func clusterID(stream uint32, createdAt uint64) string {
	sum := identityHash("cluster", stream, 0, createdAt)
	return idText(sum[:16])
}

func identityHash(kind string, stream, topic uint32, createdAt uint64) [sha256.Size]byte {
	b := append([]byte("iggy-kafka "), kind...)
	b = binary.BigEndian.AppendUint32(b, stream)
	b = binary.BigEndian.AppendUint32(b, topic)
	b = binary.BigEndian.AppendUint64(b, createdAt)
	return sha256.Sum256(b)
}

// idText is how Kafka writes 16 bytes: URL-safe base64 without padding.
func idText(b []byte) string { return base64.RawURLEncoding.EncodeToString(b) }

// String is the id as Kafka's tools print it.
func (id TopicID) String() string { return idText(id[:]) }

// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package suite

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggy-kafka/iggy-kafka/e2e/clients"
	"github.com/iggy-kafka/iggy-kafka/e2e/harness"
)

// transcript asks a target one request after the other, on one connection, and writes down every field of what it answers.
// The text is compared with testdata/transcripts, which holds what a broker answered: -update with E2E_KAFKA=true
// rewrites it. What differs from run to run is written by other names, and lists, which a broker gives in any order, are
// sorted.
type transcript struct {
	t      *testing.T
	target *harness.Target
	conn   *clients.Raw
	begin  time.Time
	names  map[string]string // by what is answered: what is written
	text   strings.Builder

	members int // of groups, named so far
}

// difference is one between a broker and the gateway that is accepted.
type difference struct {
	broker, gateway string // what each answers, as it is written
	why             string // the reason, as the page of accepted differences gives it
}

func newTranscript(t *testing.T, target *harness.Target) *transcript {
	t.Helper()
	s := &transcript{t: t, target: target, begin: time.Now(), names: map[string]string{}}
	if host, port, err := net.SplitHostPort(target.Kafka); err == nil {
		s.names["Host="+strconv.Quote(host)], s.names["Port="+port] = "Host=HOST", "Port=PORT"
	}
	s.dial()
	return s
}

func (s *transcript) dial() {
	s.t.Helper()
	s.conn = dialRaw(s.t, s.target)
}

func dialRaw(t *testing.T, target *harness.Target) *clients.Raw {
	t.Helper()
	conn, err := clients.DialRaw(within(t, limit), target.Kafka)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

// topicRef is a topic of a test's own.
type topicRef struct {
	name string
	id   [16]byte
}

// create makes a topic with settings (NAME=value), which is written by an alias from then on.
func (s *transcript) create(alias string, partitions int32, settings ...string) topicRef {
	s.t.Helper()
	return s.recreate(topicName(s.t), alias, partitions, settings...)
}

func (s *transcript) recreate(name, alias string, partitions int32, settings ...string) topicRef {
	s.t.Helper()
	topic := createTopic(s.t, s.conn, name, partitions, settings...)
	s.alias(topic, alias)
	return topic
}

func (s *transcript) alias(topic topicRef, alias string) {
	if topic.name != "" {
		s.names[strconv.Quote(topic.name)] = strconv.Quote(alias)
	}
	s.names[fmt.Sprintf("%x", topic.id)] = alias + "-ID"
}

// createTopic returns once all partitions are led: a broker takes a moment for that.
func createTopic(t *testing.T, conn *clients.Raw, name string, partitions int32, settings ...string) topicRef {
	t.Helper()
	asked := kmsg.NewCreateTopicsRequestTopic()
	asked.Topic, asked.NumPartitions, asked.ReplicationFactor = name, partitions, 1
	for _, setting := range settings {
		key, value, _ := strings.Cut(setting, "=")
		asked.Configs = append(asked.Configs, kmsg.CreateTopicsRequestTopicConfig{Name: key, Value: &value})
	}
	req := kmsg.NewPtrCreateTopicsRequest()
	req.Version, req.Topics, req.TimeoutMillis = 7, []kmsg.CreateTopicsRequestTopic{asked}, 10_000
	var made kmsg.CreateTopicsResponseTopic
	await(t, func() bool { // the gateway knows no settings before it has read what it keeps
		made = askRaw[*kmsg.CreateTopicsResponse](t, conn, req).Topics[0]
		return made.ErrorCode != kerr.NotController.Code
	})
	if made.ErrorCode != 0 {
		t.Fatalf("creating %s: code %d", name, made.ErrorCode)
	}
	metadata := metadataRequest(12, name)
	if !await(t, func() bool {
		told := askRaw[*kmsg.MetadataResponse](t, conn, metadata).Topics[0]
		unled := func(p kmsg.MetadataResponseTopicPartition) bool { return p.ErrorCode != 0 || p.Leader < 0 }
		return told.ErrorCode == 0 && len(told.Partitions) == int(partitions) && !slices.ContainsFunc(told.Partitions, unled)
	}) {
		t.Fatalf("the metadata do not come to have %s", name)
	}
	for partition := range partitions { // known is not led yet
		end := listOffsetsRequest(7, name, -1, partition, -1)
		if !await(t, func() bool {
			return askRaw[*kmsg.ListOffsetsResponse](t, conn, end).Topics[0].Partitions[0].ErrorCode == 0
		}) {
			t.Fatalf("nobody comes to lead partition %d of %s", partition, name)
		}
	}
	return topicRef{name, made.TopicID}
}

// metadataRequest asks for topics by name.
func metadataRequest(version int16, topics ...string) *kmsg.MetadataRequest {
	req := kmsg.NewPtrMetadataRequest()
	req.Version, req.Topics = version, []kmsg.MetadataRequestTopic{}
	for _, topic := range topics {
		req.Topics = append(req.Topics, kmsg.MetadataRequestTopic{Topic: &topic})
	}
	return req
}

// askRaw asks for something that is to be answered.
func askRaw[Resp kmsg.Response](t *testing.T, conn *clients.Raw, req kmsg.Request) Resp {
	t.Helper()
	resp, err := conn.Ask(within(t, limit), req)
	if err != nil {
		t.Fatal(err)
	}
	return resp.(Resp)
}

// ask writes down a step: what is asked, in words, and the answer, or that the connection was closed. Accepted are the
// differences that the gateway must show here, and that are then written as the broker's.
func (s *transcript) ask(step string, req kmsg.Request, accepted ...difference) kmsg.Response {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), limit)
	defer cancel()
	resp, err := s.conn.Ask(ctx, req)
	return s.note(step, req, resp, err, accepted...)
}

// note writes down a step that was asked by other means.
func (s *transcript) note(step string, req kmsg.Request, resp kmsg.Response, err error, accepted ...difference) kmsg.Response {
	s.t.Helper()
	fmt.Fprintf(&s.text, "# %s\n%s %d\n", step, kmsg.NameForKey(req.Key()), req.GetVersion())
	var answer strings.Builder
	switch {
	case err == nil:
		s.write(&answer, "  ", "", reflect.ValueOf(resp).Elem())
	case s.t.Context().Err() != nil || errors.Is(err, os.ErrDeadlineExceeded):
		s.t.Fatalf("%s: %v", step, err)
	default:
		s.t.Logf("%s: %v", step, err)
		fmt.Fprintln(&answer, "  closes the connection")
		s.dial()
	}
	text := answer.String()
	if s.target.Iggy != nil {
		for _, d := range accepted {
			if !strings.Contains(text, d.gateway) {
				s.t.Errorf("%s: no %q in\n%s(%s)", step, d.gateway, text, d.why)
			}
			if !strings.Contains(compatibility(s.t), d.why) {
				s.t.Errorf("%s: %q is not in %s", step, d.why, compatibilityPage)
			}
			text = strings.ReplaceAll(text, d.gateway, d.broker)
		}
	}
	s.text.WriteString(text)
	return resp
}

// compare ends the transcript: each step that is answered otherwise is a fault of its own.
func (s *transcript) compare(file string) {
	s.t.Helper()
	want, got := steps(kept(s.t, s.target, filepath.Join("testdata", "transcripts", file+".txt"), s.text.String())), steps(s.text.String())
	if len(want) != len(got) {
		s.t.Errorf("%s has %d steps, asked were %d", file, len(want), len(got))
	}
	for i := range min(len(want), len(got)) {
		if want[i] != got[i] {
			s.t.Errorf("%s, want\n%sgot\n%s", file, want[i], got[i])
		}
	}
}

// steps cuts a transcript.
func steps(text string) (steps []string) {
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "# ") {
			steps = append(steps, "")
		}
		steps[len(steps)-1] += line
	}
	return steps
}

// write writes a struct: its plain fields on one line, what it holds further in below it.
func (s *transcript) write(out *strings.Builder, indent, label string, v reflect.Value) {
	normal := reflect.New(v.Type())
	if d, ok := normal.Interface().(interface{ Default() }); ok {
		d.Default()
	}
	line, below := []string{}, strings.Builder{}
	if label != "" {
		line = append(line, label)
	}
	for i := range v.NumField() {
		field, name, usual := v.Field(i), v.Type().Field(i).Name, normal.Elem().Field(i)
		same := reflect.DeepEqual(field.Interface(), usual.Interface())
		switch {
		case name == "Version" || (name == "UnknownTags" || name == "ThrottleMillis") && same || same && !usual.IsZero():
			// An answer's version is the request's. Nobody is throttled. What has a default other than zero is -1 where there is
			// nothing to tell.
		case name == "RecordBatches":
			s.writeRecords(&below, indent+"  ", field.Bytes())
		case field.Kind() == reflect.Pointer && !field.IsNil() && field.Elem().Kind() == reflect.Struct:
			s.write(&below, indent+"  ", name, field.Elem())
		case field.Kind() == reflect.Struct:
			if !same {
				s.write(&below, indent+"  ", name, field)
			}
		case field.Kind() == reflect.Slice && field.Type().Elem().Kind() == reflect.Struct:
			s.writeList(&below, indent+"  ", name, field)
		case field.Kind() == reflect.Pointer && field.IsNil(), field.Kind() == reflect.Slice && field.Len() == 0, name == "TopicID" && field.IsZero():
		default:
			line = append(line, s.named(name+"="+s.plain(name, field)))
		}
	}
	if len(line) > 0 {
		fmt.Fprintln(out, indent+strings.Join(line, " "))
	}
	out.WriteString(below.String())
}

// writeList tells an empty list from one that is null, which is left out.
func (s *transcript) writeList(out *strings.Builder, indent, name string, list reflect.Value) {
	if list.Len() == 0 {
		if !list.IsNil() {
			fmt.Fprintf(out, "%s%s none\n", indent, name)
		}
		return
	}
	elements := make([]string, list.Len())
	for i := range elements {
		var element strings.Builder
		s.write(&element, indent, name, list.Index(i))
		elements[i] = element.String()
	}
	slices.Sort(elements)
	last := ""
	for _, element := range elements {
		// A broker's Fetch tells a topic twice if some of its partitions are not there.
		if head, partitions, _ := strings.Cut(element, "\n"); head == last && partitions != "" {
			element = partitions
		} else {
			last = head
		}
		out.WriteString(element)
	}
}

// writeRecords checks the batches, which a broker and the gateway may cut differently, and writes the records.
func (s *transcript) writeRecords(out *strings.Builder, indent string, raw []byte) {
	s.t.Helper()
	if len(raw) == 0 {
		fmt.Fprintf(out, "%sRecords %s\n", indent, map[bool]string{true: "null", false: "none"}[raw == nil])
		return
	}
	for _, r := range recordsOf(s.t, raw) {
		line := fmt.Sprintf("%sRecord Offset=%d Timestamp=%s Key=%s Value=%s", indent, r.Offset, s.time(r.Timestamp), quoted(r.Key), quoted(r.Value))
		for _, h := range r.Headers {
			line += fmt.Sprintf(" %s:%s", strconv.Quote(h.Name), quoted(h.Value))
		}
		fmt.Fprintln(out, line)
	}
}

// recordsOf decodes what a Fetch was answered: uncompressed batches of leader epoch 0, the only one, without a gap.
func recordsOf(t *testing.T, raw []byte) []clients.Record {
	t.Helper()
	const logAppendTime = 8
	batches, _, err := clients.ReadBatches(raw)
	if err != nil {
		t.Error(err)
	}
	var records []clients.Record
	for _, b := range batches {
		if b.PartitionLeaderEpoch != 0 || len(records) > 0 && b.FirstOffset != records[len(records)-1].Offset+1 {
			t.Errorf("a batch at %d of leader epoch %d, after %d records", b.FirstOffset, b.PartitionLeaderEpoch, len(records))
		}
		of, err := clients.BatchRecordsOf(b)
		if err != nil {
			t.Error(err)
		}
		if b.Attributes&logAppendTime != 0 {
			for i := range of {
				of[i].Timestamp = b.MaxTimestamp
			}
		}
		records = append(records, of...)
	}
	return records
}

// plain is one field's value.
func (s *transcript) plain(name string, v reflect.Value) string {
	switch v.Kind() {
	case reflect.Pointer:
		return s.plain(name, v.Elem())
	case reflect.String:
		return strconv.Quote(s.message(name, v.String()))
	case reflect.Array:
		return fmt.Sprintf("%x", v.Interface())
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			return strconv.Quote(string(v.Bytes()))
		}
		return fmt.Sprint(v.Interface())
	case reflect.Int64:
		return s.time(v.Int())
	default:
		return fmt.Sprint(v.Interface())
	}
}

// largeNumbers are those of times in a message.
var largeNumbers = regexp.MustCompile(`-?\b\d{12,}`)

// message replaces names and times within a text for people.
func (s *transcript) message(field, text string) string {
	if field != "ErrorMessage" {
		return text
	}
	for _, name := range slices.Sorted(maps.Keys(s.names)) {
		if topic, err := strconv.Unquote(name); err == nil {
			text = strings.ReplaceAll(text, topic, strings.Trim(s.names[name], `"`))
		}
	}
	return largeNumbers.ReplaceAllString(text, "N")
}

// time writes a number of ms since 1970 within the test as NOW.
func (s *transcript) time(ms int64) string {
	if ms >= s.begin.Add(-time.Second).UnixMilli() && ms <= time.Now().Add(time.Second).UnixMilli() {
		return "NOW"
	}
	return fmt.Sprint(ms)
}

// memberIDs are what a coordinator makes of a client's id, or a static member's.
var memberIDs = regexp.MustCompile(`^"(.*)-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"$`)

// named replaces what differs from run to run in one field, NAME=value. Sessions and members are numbered as they come.
func (s *transcript) named(field string) string {
	name, value, _ := strings.Cut(field, "=")
	if of := memberIDs.FindStringSubmatch(value); of != nil && s.names[value] == "" {
		s.members++
		s.names[value] = fmt.Sprintf(`"%s-M%d"`, of[1], s.members)
	}
	if name == "SessionID" && value != "0" && s.names[field] == "" {
		s.names[field] = fmt.Sprintf("SessionID=S%d", 1+len(slices.DeleteFunc(slices.Collect(maps.Keys(s.names)), func(k string) bool { return !strings.HasPrefix(k, "SessionID=") })))
	}
	if name == "ProducerID" && value != "-1" && s.names[field] == "" {
		s.names[field] = "ProducerID=P"
	}
	if name == "ClusterID" {
		return "ClusterID=CLUSTER"
	}
	if alias := cmp.Or(s.names[field], s.names[value]); alias != "" {
		if s.names[field] == "" {
			return name + "=" + alias
		}
		return alias
	}
	return field
}

// quoted abbreviates long bytes, and tells null.
func quoted(b []byte) string {
	switch {
	case b == nil:
		return "null"
	case len(b) > 40:
		return fmt.Sprintf("%q*%d", b[:1], len(b))
	default:
		return strconv.Quote(string(b))
	}
}

// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package suite

import (
	"cmp"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggy-kafka/iggy-kafka/e2e/clients"
	"github.com/iggy-kafka/iggy-kafka/e2e/harness"
)

// script asks one API the same at each of its boundaries, and at versions between them that add a form of their own. Each
// has a transcript, testdata/transcripts/parity/KEY-NAME.txt.
type script struct {
	key    int16
	also   []int16    // versions that are no boundary
	asked  []provoked // what is answered at the boundaries, here or in another transcript
	run    func(p *parity)
	groups bool // a coordinator is needed
}

// parity is a script that runs.
type parity struct {
	*transcript
	version  int16
	first    bool        // of the versions
	topic    topicRef    // of two partitions
	missing  topicRef    // which is not there
	small    topicRef    // which takes no large batches
	nameless *sync.Mutex // guards the group without a name, which all scripts share
}

// scripts has one for each API that is served.
func scripts() []script {
	return slices.Concat(recordScripts(), offsetScripts(), memberScripts(), groupScripts(), topicScripts(), configScripts(), adminScripts(), quotaScripts(), aclScripts(), saslScripts())
}

// testParity runs the scripts.
func testParity(t *testing.T, target *harness.Target) {
	served, nameless := servedVersions(t), new(sync.Mutex)
	for _, script := range scripts() {
		t.Run(script.name(), func(t *testing.T) {
			t.Parallel()
			s := newTranscript(t, target)
			topic := s.create("topic", 2, "retention.ms=-1")
			missing := topicRef{name: topicName(t), id: [16]byte{1, 2, 3}}
			s.alias(missing, "missing")
			if script.groups {
				awaitCoordinator(t, s.conn, topic.name)
			}
			p := &parity{transcript: s, first: true, topic: topic, missing: missing, nameless: nameless}
			for _, p.version = range script.versions(served[script.key]) {
				p.members = 0
				script.run(p)
				p.first = false
			}
			s.compare(filepath.Join("parity", script.name()))
		})
	}
}

func (s script) name() string { return fmt.Sprintf("%02d-%s", s.key, kmsg.NameForKey(s.key)) }

// versions are the boundaries and what is asked besides, ascending.
func (s script) versions(served versionRange) []int16 {
	versions := append(served.boundaries(s.key), s.also...)
	slices.Sort(versions)
	return slices.Compact(versions)
}

// step writes down what is answered at the script's version.
func (p *parity) step(step string, req kmsg.Request, accepted ...difference) kmsg.Response {
	p.t.Helper()
	req.SetVersion(p.version)
	return p.ask(step, req, accepted...)
}

// onlySince are differences from a version on.
func (p *parity) onlySince(version int16, accepted ...difference) []difference {
	if p.version < version {
		return nil
	}
	return accepted
}

// since is a text that is there from a version on, before one that is there below it.
func (p *parity) since(version int16, text string) string {
	if p.version < version {
		return ""
	}
	return text
}

func (p *parity) before(version int16, text string) string {
	if p.version < version {
		return text
	}
	return ""
}

// quietly asks for what is needed and not looked at.
func (p *parity) quietly(req kmsg.Request) kmsg.Response {
	p.t.Helper()
	return askRaw[kmsg.Response](p.t, p.conn, req)
}

// group is a new one's name.
func (p *parity) group(alias string) string {
	name := topicName(p.t)
	p.names[strconv.Quote(name)] = strconv.Quote(alias)
	return name
}

// long is a name of so many bytes.
func (p *parity) long(n int) string {
	name := strings.Repeat("n", n)
	p.names[strconv.Quote(name)] = fmt.Sprintf(`"n*%d"`, n)
	return name
}

// withNameless runs steps about the group without a name: one of a committed offset, of this topic.
func (p *parity) withNameless(steps func()) {
	p.t.Helper()
	p.nameless.Lock()
	defer p.nameless.Unlock()
	remove := kmsg.NewPtrDeleteGroupsRequest()
	remove.Version, remove.Groups = 2, []string{""}
	defer p.quietly(remove)
	commit := p.commit("", p.topic.name, 1)
	commit.Version = 8
	p.quietly(commit)
	steps()
}

// named is a string that is given by reference.
func named(s string) *string { return &s }

// other is one more connection, for who waits.
func (p *parity) other() *clients.Raw { return dialRaw(p.t, p.target) }

// park asks on a connection of its own; the answer is written down when the function that it returns is called.
func (p *parity) park(step string, req kmsg.Request) (answered func() kmsg.Response) {
	p.t.Helper()
	req.SetVersion(p.version)
	conn := p.other()
	if err := conn.Send(within(p.t, limit), req); err != nil {
		p.t.Fatal(err)
	}
	return func() kmsg.Response {
		p.t.Helper()
		resp, err := conn.Receive(within(p.t, limit))
		return p.note(step, req, resp, err)
	}
}

// versionRange is what is served of an API.
type versionRange struct{ lowest, highest int16 }

// boundaries are the lowest and the highest version, and both sides of where the layout becomes flexible (KIP-482).
func (v versionRange) boundaries(key int16) []int16 {
	boundaries, req := []int16{v.lowest, v.highest}, kmsg.RequestForKey(key)
	for version := v.lowest + 1; version <= v.highest; version++ {
		req.SetVersion(version - 1)
		before := req.IsFlexible()
		req.SetVersion(version)
		if req.IsFlexible() != before {
			boundaries = append(boundaries, version-1, version)
		}
	}
	slices.Sort(boundaries)
	return slices.Compact(boundaries)
}

// compatibilityPage is made from the table of what is served, and says what is accepted.
const compatibilityPage = "../../docs/compatibility.md"

func compatibility(t *testing.T) string {
	t.Helper()
	page, err := os.ReadFile(compatibilityPage)
	if err != nil {
		t.Fatal(err)
	}
	return string(page)
}

// servedVersions reads what is served.
func servedVersions(t *testing.T) map[int16]versionRange {
	t.Helper()
	served := map[int16]versionRange{}
	for _, row := range regexp.MustCompile(`(?m)^\| (\d+) \| \w+ \| (\d+)(?:-(\d+))? \|`).FindAllStringSubmatch(compatibility(t), -1) {
		number := func(s string) int16 {
			n, err := strconv.ParseInt(s, 10, 16)
			if err != nil {
				t.Fatal(err)
			}
			return int16(n)
		}
		served[number(row[1])] = versionRange{number(row[2]), number(cmp.Or(row[3], row[2]))}
	}
	if len(served) < 20 {
		t.Fatalf("%s says of %d APIs that they are served", compatibilityPage, len(served))
	}
	return served
}

// advertisedWithoutSASL are the APIs that the table has for all clients, those that need not authenticate among them.
func advertisedWithoutSASL(t *testing.T) (keys []int16) {
	t.Helper()
	authenticated := regexp.MustCompile(`(?m)^\| (\d+) \|.*, where clients authenticate \|$`).FindAllStringSubmatch(compatibility(t), -1)
	for key := range servedVersions(t) {
		if !slices.ContainsFunc(authenticated, func(row []string) bool { return row[1] == fmt.Sprint(key) }) {
			keys = append(keys, key)
		}
	}
	return keys
}

// provoked is a code that is answered in a range of versions.
type provoked struct {
	code            int16
	lowest, highest int16
}

// always, since and before name what is answered at versions; no error is nil.
func always(errs ...*kerr.Error) []provoked { return between(0, 99, errs...) }

func since(version int16, errs ...*kerr.Error) []provoked { return between(version, 99, errs...) }

func before(version int16, errs ...*kerr.Error) []provoked { return between(0, version-1, errs...) }

func between(lowest, highest int16, errs ...*kerr.Error) []provoked {
	list := make([]provoked, len(errs))
	for i, err := range errs {
		list[i] = provoked{lowest: lowest, highest: highest}
		if err != nil {
			list[i].code = err.Code
		}
	}
	return list
}

// TestParityCovers fails where something that is served is not compared with a broker: an API, a boundary of its versions,
// or an error there.
func TestParityCovers(t *testing.T) {
	served, told := servedVersions(t), transcribed(t)
	byKey := map[int16]script{}
	for _, s := range scripts() {
		if _, ok := served[s.key]; !ok {
			t.Errorf("%s is not served", s.name())
		}
		byKey[s.key] = s
	}
	for key, versions := range served {
		script, ok := byKey[key]
		if !ok {
			t.Errorf("%s has no script", kmsg.NameForKey(key))
			continue
		}
		for _, version := range versions.boundaries(key) {
			at := asked{kmsg.NameForKey(key), version}
			codes, ok := told[at]
			if !ok {
				t.Errorf("%s %d is in no transcript", at.api, version)
			}
			for _, p := range script.asked {
				if version >= p.lowest && version <= p.highest && !codes[p.code] {
					t.Errorf("%s %d is nowhere answered with %d", at.api, version, p.code)
				}
			}
		}
		t.Logf("%s %v: %s", script.name(), script.versions(versions), summary(script, versions, told))
	}
}

// summary lists the codes at a script's versions.
func summary(s script, served versionRange, told map[asked]map[int16]bool) string {
	var codes []int16
	for _, version := range s.versions(served) {
		for code := range told[asked{kmsg.NameForKey(s.key), version}] {
			codes = append(codes, code)
		}
	}
	slices.Sort(codes)
	return fmt.Sprint(slices.Compact(codes))
}

type asked struct {
	api     string
	version int16
}

// transcribed is which codes are answered to what in the transcripts.
func transcribed(t *testing.T) map[asked]map[int16]bool {
	t.Helper()
	var (
		step = regexp.MustCompile(`^(\w+) (\d+)$`)
		code = regexp.MustCompile(`\bErrorCode=(-?\d+)`)
		told = map[asked]map[int16]bool{}
	)
	err := filepath.WalkDir(filepath.Join("testdata", "transcripts"), func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		var at asked
		for line := range strings.Lines(string(text)) {
			line = strings.TrimSuffix(line, "\n")
			if head := step.FindStringSubmatch(line); head != nil {
				version, _ := strconv.ParseInt(head[2], 10, 16)
				at = asked{head[1], int16(version)}
				if told[at] == nil {
					told[at] = map[int16]bool{}
				}
			}
			for _, found := range code.FindAllStringSubmatch(line, -1) {
				n, _ := strconv.ParseInt(found[1], 10, 16)
				told[at][int16(n)] = true
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return told
}

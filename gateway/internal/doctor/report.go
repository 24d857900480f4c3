// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/iggy-kafka/iggy-kafka/gateway/internal/excerpt"
)

// Status is what came of a step.
type Status string

const (
	OK      Status = "ok"
	Warning Status = "warning" // it works here, and may not elsewhere or later
	Failed  Status = "failed"
	Skipped Status = "skipped"
)

// Millis is a duration that is written as a number of milliseconds.
type Millis time.Duration

func (m Millis) String() string {
	return strconv.FormatFloat(float64(m)/float64(time.Millisecond), 'f', 1, 64) + " ms"
}

// MarshalJSON writes milliseconds with their microseconds as the fraction.
func (m Millis) MarshalJSON() ([]byte, error) {
	return strconv.AppendFloat(nil, float64(time.Duration(m).Microseconds())/1000, 'f', -1, 64), nil
}

// finding is what a step found: in words, and what to do about it.
type finding struct {
	Status Status `json:"status"`
	Found  string `json:"found"`
	Advice string `json:"advice,omitempty"`
}

func ok(format string, args ...any) finding { return finding{OK, fmt.Sprintf(format, args...), ""} }

func skipped(format string, args ...any) finding {
	return finding{Skipped, fmt.Sprintf(format, args...), ""}
}

func failed(found, advice string) finding { return finding{Failed, found, advice} }

func warning(found, advice string) finding { return finding{Warning, found, advice} }

// Step is one step of an examination.
type Step struct {
	Name string `json:"step"`
	finding
	Took Millis `json:"took_ms"`
}

// Latency is how long something took that was done several times.
type Latency struct {
	Of    string `json:"of"`
	P50   Millis `json:"p50_ms"`
	Max   Millis `json:"max_ms"`
	Count int    `json:"count"`
}

// Report is the outcome of an examination. It is healthy if no step has failed.
type Report struct {
	Address   string    `json:"address"`
	Healthy   bool      `json:"healthy"`
	Steps     []Step    `json:"steps"`
	Latencies []Latency `json:"latencies,omitempty"`
}

// nameWidth is that of the longest step's name.
const nameWidth = 10

// WriteText writes a step as a line, and what to do about it as another.
func (s Step) WriteText(w io.Writer) error {
	_, err := fmt.Fprintf(w, "%-7s  %-*s  %s\n", s.Status, nameWidth, s.Name, s.Found)
	if err == nil && s.Advice != "" {
		_, err = fmt.Fprintf(w, "%7s  %-*s  What to do: %s\n", "", nameWidth, "", s.Advice)
	}
	return err
}

// Summary is the last line of the report as text.
func (r *Report) Summary() string {
	counts := map[Status]int{}
	for _, s := range r.Steps {
		counts[s.Status]++
	}
	verdict := "A Kafka client works here"
	if !r.Healthy {
		verdict = "A Kafka client does not work here"
	}
	return fmt.Sprintf("%s: %d ok, %d warnings, %d failed, %d skipped.", verdict, counts[OK], counts[Warning], counts[Failed], counts[Skipped])
}

// WriteJSON writes the whole report as one object.
func (r *Report) WriteJSON(w io.Writer) error {
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")
	return encoder.Encode(r)
}

// maxShown is how many bytes of a text of a server's are shown.
const maxShown = 200

// shown is a name or a text of a server's in a form that can be printed.
func shown(text string) string { return excerpt.Quoted(text, maxShown) }

// printable is a text in which what a terminal may not show is replaced; bounded.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		if strconv.IsPrint(r) {
			return r
		}
		return '?'
	}, excerpt.Of(text, maxShown))
}

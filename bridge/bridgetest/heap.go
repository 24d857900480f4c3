// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package bridgetest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/debug"
)

// Disguised is a text that is not to be found in the memory of the process that looks for it, but for where others have it.
type Disguised []byte

// disguise turns over the bits of each byte.
const disguise = 0xff

// Disguise hides the bytes of text, which are overwritten.
func Disguise(text []byte) Disguised {
	d := make(Disguised, len(text))
	for i, b := range text {
		d[i] = b ^ disguise
	}
	clear(text)
	return d
}

// Reveal writes the text out; its receiver overwrites it.
func (d Disguised) Reveal() []byte {
	text := make([]byte, len(d))
	for i, b := range d {
		text[i] = b ^ disguise
	}
	return text
}

// InMemory tells how often the text is in what this process can still reach: it dumps the heap, with everything that hangs on
// pools, channels, closures and stacks, and looks through it.
func (d Disguised) InMemory() (n int, err error) {
	f, err := os.CreateTemp("", "heap-")
	if err != nil {
		return 0, fmt.Errorf("bridgetest: heap dump: %w", err)
	}
	defer func() { err = errors.Join(err, f.Close(), os.Remove(f.Name())) }()
	// What nothing refers to is collected in the first round; pools give up what they hold for good in the second, so they are to be
	// looked at before.
	runtime.GC()
	debug.WriteHeapDump(f.Fd())
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return 0, fmt.Errorf("bridgetest: heap dump: %w", err)
	}
	return d.count(f)
}

// count finds the text in a stream.
func (d Disguised) count(r io.Reader) (n int, err error) {
	if len(d) == 0 {
		return 0, errors.New("bridgetest: nothing to look for")
	}
	window, filled := make([]byte, 1<<20), 0
	for {
		read, err := io.ReadFull(r, window[filled:])
		text := window[:filled+read]
		for {
			i := bytes.IndexByte(text, d[0]^disguise)
			if i < 0 || len(text)-i < len(d) {
				break
			}
			if d.matches(text[i : i+len(d)]) {
				n++
			}
			text = text[i+1:]
		}
		switch {
		case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
			return n, nil
		case err != nil:
			return n, fmt.Errorf("bridgetest: heap dump: %w", err)
		}
		filled = copy(window, text[max(len(text)-len(d)+1, 0):]) // what may go on
	}
}

func (d Disguised) matches(text []byte) bool {
	for i, b := range text {
		if b^disguise != d[i] {
			return false
		}
	}
	return true
}

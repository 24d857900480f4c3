// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package harness

import "context"

// Client is a client that runs until it is stopped: a worker, a stream processor.
type Client struct {
	Name     string
	Command  string // the path of its run command
	Args     []string
	Log      string                          // the file that its output is appended to
	Ready    func(ctx context.Context) error // nil once it does what it is there for
	StopCode int                             // its exit code after SIGTERM
}

// JVMStopCode is how a JVM ends after SIGTERM, in good order as well: 128 + 15.
const JVMStopCode = 143

// Start returns once the client is ready.
func (c Client) Start(ctx context.Context) (*Program, error) {
	return start(ctx, Program{name: c.Name, log: c.Log, ready: c.Ready, stopCode: c.StopCode, path: c.Command, args: c.Args})
}

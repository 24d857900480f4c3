// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package soak

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/iggy-kafka/iggy-kafka/e2e/harness"
)

const (
	// startLimit bounds how long a program may take until it serves again, with everything around it being disturbed.
	startLimit = 60 * time.Second
	// stillness is for how long nothing reaches the clients, or the log, before nothing is taken to be on its way there.
	stillness = 250 * time.Millisecond
	// gathering is how long requests are held before their senders lose the connection.
	gathering = 50 * time.Millisecond
	// stillnessLimit is for how long that is waited for.
	stillnessLimit = 5 * time.Second
)

// inject lets a fault happen and returns when it is over. An error says that a program did not do what it should.
func (r *run) inject(ctx context.Context, f Fault) error {
	switch f.Where {
	case Gateway:
		from := time.Since(r.scene.begin)
		err := r.disturb(ctx, r.target.Gateway, f)
		if f.Kind == Pause {
			r.silences = append(r.silences, Silence{from, time.Since(r.scene.begin)})
		}
		return err
	case Store:
		if f.Kind == Kill && r.plan.Topology.forgets() {
			return r.killForgetful(ctx, f)
		}
		return r.disturb(ctx, r.target.IggyServer, f)
	case Clients:
		return disturbNetwork(ctx, r.clients, f)
	case Iggy:
		return disturbNetwork(ctx, r.iggy, f)
	case Members:
		return r.members.replace(ctx, f.Who, f.For)
	default:
		return r.clock.Set(f.Step)
	}
}

// disturb does something to a program.
func (r *run) disturb(ctx context.Context, p *harness.Program, f Fault) error {
	if p.Ended() {
		return errors.Join(fmt.Errorf("soak: %s had ended by itself at %v", f.Where, f.At), r.startAgain(ctx, p))
	}
	switch f.Kind {
	case Pause:
		p.Pause()
		defer p.Resume()
		return sleep(ctx, f.For)
	case Kill:
		p.Kill()
	case Stop:
		if err := p.Stop(ctx); err != nil {
			return errors.Join(fmt.Errorf("soak: %s: %w", f, err), r.startAgain(ctx, p))
		}
	}
	return errors.Join(sleep(ctx, f.For), r.startAgain(ctx, p))
}

// startAgain starts a program as a supervisor does: again, when it gave up because something around it was away.
func (r *run) startAgain(ctx context.Context, p *harness.Program) error {
	ctx, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	for {
		err := p.Start(ctx)
		if err == nil || ctx.Err() != nil {
			return err
		}
		r.startsFailed.Add(1)
		if err := sleep(ctx, 100*time.Millisecond); err != nil {
			return err
		}
	}
}

// killForgetful kills a store that will have forgotten something when it is back, and finds out what: nobody writes
// between its coming back and the look at how far its partitions go, and nobody is told any more of what it had before.
func (r *run) killForgetful(ctx context.Context, f Fault) error {
	if f.Cut {
		r.clients.CutAfter(0, Answers)
		if err := sleep(ctx, f.Lead); err != nil {
			return err
		}
	}
	r.target.IggyServer.Kill()
	r.iggy.Refuse(true)
	defer r.iggy.Refuse(false)
	r.gate.Lock()
	defer r.gate.Unlock()
	if err := errors.Join(sleep(ctx, f.For), r.awaitStillness(ctx), r.startAgain(ctx, r.target.IggyServer)); err != nil {
		return err
	}
	logs, err := r.native.logs(r.plan.Partitions)
	if err != nil {
		return err
	}
	loss := Loss{At: time.Since(r.scene.begin)}
	loss.Answered = loss.At
	if r.plan.Partitions > 1 {
		loss.Answered += requestTimeout
	}
	for _, log := range logs {
		loss.Ends = append(loss.Ends, int64(len(log)))
	}
	r.losses = append(r.losses, loss)
	return nil
}

func (r *run) awaitStillness(ctx context.Context) error {
	for limit := time.Now().Add(stillnessLimit); time.Now().Before(limit); {
		before := r.scene.words.Load()
		if err := sleep(ctx, stillness); err != nil {
			return err
		}
		if r.scene.words.Load() == before {
			return nil
		}
	}
	return fmt.Errorf("soak: clients are still told of records %v after the store was killed", stillnessLimit)
}

func disturbNetwork(ctx context.Context, p *Proxy, f Fault) error {
	switch f.Kind {
	case Cut:
		p.CutAfter(f.Bytes, f.Way)
		return nil
	case Delay:
		p.Delay(f.Way, time.Duration(f.Bytes)*time.Millisecond)
		defer p.Delay("", 0)
	case Stall:
		p.Stall(f.Way)
		defer func() {
			if f.Cut {
				p.CutAll()
			}
			p.Stall("")
		}()
	case Late:
		p.Hold()
		defer p.Release()
		if err := sleep(ctx, gathering); err != nil {
			return err
		}
		p.Orphan()
	case HalfOpen:
		p.HalfOpen()
		defer p.Heal() // of the faults of one place there is one at a time
	case Refuse:
		p.Refuse(true)
		defer p.Refuse(false)
	}
	return sleep(ctx, f.For)
}

// sleep is cut short by the end of ctx, which is the error then.
func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

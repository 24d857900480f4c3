// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

// Package group runs members of consumer groups as processes of their own, one program per client library, so that a
// test can do to each of them what happens to applications: it starts, closes and kills them.
//
// A program is told what to do by one argument, Config as JSON. It reads its partitions from the committed offset or
// the beginning on, prints each record, and then commits what it printed, waiting for the answer, before it reads on. It
// closes its consumer on SIGTERM. What happens to it is printed as it happens, one Event as JSON per line:
//
//	{"event":"started","version":"1.2.3"}                       first: the library's version
//	{"event":"assigned","partitions":[0,1]}                     in addition to those it has
//	{"event":"record","partition":0,"offset":17,"value":"v"}    delivered by the library
//	{"event":"committed","offsets":{"0":18}}                    the answer was good: next offset by partition
//	{"event":"revoked","partitions":[0,1]}                      given up or lost; printed before another member has them
//	{"event":"error","error":"what failed"}                     and the program went on
//	{"event":"closed"}                                          last
//
// Kafka's own VerifiableConsumer has arguments and lines of its own, which are translated. Each run command (go/member,
// java/member, node/member, python/member) called without arguments only fetches or builds what it needs.
package group

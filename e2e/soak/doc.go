// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

// Package soak looks for writes that are lost, doubled or reordered and for reads that are not complete, in the manner of
// a model checker: many clients of several libraries read and write while everything between them and the disk is killed,
// paused, cut off and set to another time; afterwards a pure function holds what they were told against what is stored.
//
// A run is drawn from its seed ([NewPlan]): topology, clients and a list of faults. It lasts about ten seconds, after
// which everything is left in peace and has to come to rest: producers flush, consumers reach the end. Then [Check] looks
// at the [History]. The seed replays the plan; what the scheduler makes of it is chance, so a failed run keeps its
// history and logs in bin/soak at the root of the repository.
//
// Environment: SOAK_RUNS and SOAK_SEED (the first run's; one more for each that follows) say what to run, SOAK_TOPOLOGY
// restricts the topologies to one, SOAK_KEEP=true keeps the folders of runs that passed, SOAK_DEBUG=true has clients log
// every request. IGGY_SERVER_BIN names the binary of a real Iggy server 0.8, which then takes part. Java clients take part
// where java and mvn are; without them REQUIRE_JAVA=true fails the test.
package soak

// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

// Package deploy is the ways in which the gateway is shipped and run: release makes the archives, docker, systemd and kubernetes
// hold what starts the gateway there, and lint checks these files with the libraries of the tools that read them.
//
// Its module is no part of the workspace, on purpose: in a workspace the highest version that any module asks for is used
// by all, and what buildkit and Kubernetes ask for would be tested, and released, in the gateway.
package deploy

// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package admin

import (
	"net"
	"net/netip"
	"slices"
	"strings"
)

// reserved are the ends of names that are not given out on the internet (RFC 2606, 6761, 6762, 8375, ICANN's .internal), and
// those that Kubernetes gives to services and pods.
func reserved() []string {
	return []string{".localhost", ".local", ".internal", ".home.arpa", ".test", ".svc", ".svc.cluster.local", ".pod.cluster.local"}
}

// KnownHost says whether a request may call the gateway by that name, which may have a port. One by a name that somebody may have
// registered to let it point here is to be refused: a page under that name would have the browser's leave to read what is
// answered. An address, a name without a dot and one that ends in a reserved domain are nobody's; others are listed in known.
func KnownHost(host string, known []string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	host = strings.ToLower(strings.TrimSuffix(strings.Trim(host, "[]"), "."))
	if _, err := netip.ParseAddr(host); err == nil || !strings.Contains(host, ".") {
		return true
	}
	return slices.ContainsFunc(known, func(name string) bool { return strings.EqualFold(name, host) }) ||
		slices.ContainsFunc(reserved(), func(end string) bool { return strings.HasSuffix(host, end) })
}

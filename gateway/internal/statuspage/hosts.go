// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package statuspage

import (
	"errors"
	"net"
	"net/netip"
	"slices"
	"strings"
)

var errForeignHost = errors.New("statuspage: asked for by a foreign name")

// reserved are the ends of names that are not given out on the internet (RFC 2606, 6761, 6762, 8375, ICANN's .internal), and
// those that Kubernetes gives to services and pods.
func reserved() []string {
	return []string{".localhost", ".local", ".internal", ".home.arpa", ".test", ".svc", ".svc.cluster.local", ".pod.cluster.local"}
}

// checkHost refuses a request that calls the gateway by a name which somebody may have registered to let it point here: a page
// under that name would have the browser's leave to read what is answered. An address, a name without a dot and one that ends
// in a reserved domain are nobody's; others are listed in known.
func checkHost(host string, known []string) error {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	host = strings.ToLower(strings.TrimSuffix(strings.Trim(host, "[]"), "."))
	if _, err := netip.ParseAddr(host); err == nil {
		return nil
	}
	if !strings.Contains(host, ".") || slices.ContainsFunc(known, func(name string) bool { return strings.EqualFold(name, host) }) {
		return nil
	}
	for _, end := range reserved() {
		if strings.HasSuffix(host, end) {
			return nil
		}
	}
	return errForeignHost
}

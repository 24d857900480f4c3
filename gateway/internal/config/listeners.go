// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package config

import (
	"errors"
	"net"
	"net/netip"
	"os"
	"strconv"
	"strings"

	"github.com/iggy-kafka/iggy-kafka/gateway/internal/tlsconfig"
)

// listenerFlags are the settings of one listener.
type listenerFlags struct{ bind, host, port string }

var (
	mainListener = listenerFlags{"bind-addr", "advertised-host", "advertised-port"}
	tlsListener  = listenerFlags{"tls-bind-addr", "tls-advertised-host", "tls-advertised-port"}
)

// completeListener fills in what clients are told to connect to, which must be an address that they can connect to.
func completeListener(flags listenerFlags, bindAddr string, host *string, port *int32, given map[string]bool, sound func(...string) bool) (faults Faults) {
	fault := func(flag, value, reason string) { faults = append(faults, Fault{variable(flag), value, reason}) }
	if sound(flags.bind) {
		bindHost, bindPort, _ := net.SplitHostPort(bindAddr)
		if *host == "" {
			*host = bindHost
		}
		switch {
		case !wildcard(*host):
		case given[flags.host]:
			fault(flags.host, *host, "no address that a client could connect to")
		default:
			fault(flags.bind, bindAddr, "listens on every address: "+variable(flags.host)+" must say which one clients connect to")
		}
		if n, err := strconv.ParseInt(bindPort, 10, 32); err == nil && sound(flags.port) && *port == 0 {
			*port = int32(n)
		}
	}
	if strings.ContainsAny(*host, "[]/ ") || strings.Count(*host, ":") == 1 {
		fault(flags.host, *host, "not a host name or an IP address (IPv6 without brackets, no port)")
	}
	return faults
}

// completeTLS holds the TLS settings against each other and reads the files, so that a mistake in them shows in check.
func completeTLS(c *Config, given map[string]bool, sound func(...string) bool) (faults Faults) {
	fault := func(flag, value, reason string) { faults = append(faults, Fault{variable(flag), value, reason}) }
	if c.TLSBindAddr == "" {
		if c.TLSAdvertisedHost != "" {
			fault(tlsListener.host, c.TLSAdvertisedHost, "says nothing without "+variable(tlsListener.bind))
		}
		if c.TLSAdvertisedPort != 0 {
			fault(tlsListener.port, strconv.Itoa(int(c.TLSAdvertisedPort)), "says nothing without "+variable(tlsListener.bind))
		}
	} else {
		faults = append(faults, completeListener(tlsListener, c.TLSBindAddr, &c.TLSAdvertisedHost, &c.TLSAdvertisedPort, given, sound)...)
	}

	const cert, key, clientCA = "tls-cert-file", "tls-key-file", "tls-client-ca-file"
	if c.TLSCertFile != "" && c.TLSKeyFile != "" {
		_, err := tlsconfig.Load(c.TLSFiles())
		for _, err := range each(err) {
			var wrong *tlsconfig.FileError
			if errors.As(err, &wrong) {
				flag := map[string]string{c.TLSClientCAFile: clientCA, c.TLSKeyFile: key, c.TLSCertFile: cert}[wrong.File]
				fault(flag, wrong.File, wrong.Err.Error())
			}
		}
		return faults
	}
	for _, set := range []struct{ flag, value, needs string }{
		{cert, c.TLSCertFile, key},
		{key, c.TLSKeyFile, cert},
		{clientCA, c.TLSClientCAFile, cert},
		{tlsListener.bind, c.TLSBindAddr, cert},
	} {
		if set.value != "" && (set.needs != cert || c.TLSCertFile == "") {
			fault(set.flag, set.value, "needs "+variable(set.needs))
		}
		if _, err := os.Stat(set.value); set.value != "" && set.flag != tlsListener.bind && err != nil {
			fault(set.flag, set.value, err.Error())
		}
	}
	return faults
}

// checkPorts finds listeners that would take each other's port.
func checkPorts(c *Config, sound func(...string) bool) (faults Faults) {
	taken := map[string]string{}
	for _, l := range []struct{ flag, addr string }{
		{mainListener.bind, c.BindAddr}, {tlsListener.bind, c.TLSBindAddr}, {"admin-addr", c.AdminAddr}, {"embedded-addr", c.EmbeddedAddr},
	} {
		if _, port, _ := net.SplitHostPort(l.addr); !sound(l.flag) || l.addr == "" || port == "0" || l.flag == "embedded-addr" && !c.Embedded {
			continue
		}
		if other, twice := taken[l.addr]; twice {
			faults = append(faults, Fault{variable(l.flag), l.addr, "the address of " + variable(other) + " as well: each needs a port of its own"})
		}
		taken[l.addr] = l.flag
	}
	return faults
}

// TLSFiles are the files of the TLS listener, if there is one.
func (c Config) TLSFiles() tlsconfig.Files {
	return tlsconfig.Files{Cert: c.TLSCertFile, Key: c.TLSKeyFile, ClientCA: c.TLSClientCAFile}
}

// PlainListener tells whether clients may connect without TLS.
func (c Config) PlainListener() bool { return c.TLSCertFile == "" || c.TLSBindAddr != "" }

// wildcard tells whether a listener on host listens on all addresses.
func wildcard(host string) bool {
	addr, err := netip.ParseAddr(host)
	return host == "" || err == nil && addr.IsUnspecified()
}

// LoopbackAddr tells whether only this machine reaches a listener on addr.
func LoopbackAddr(addr string) bool {
	host, _, _ := net.SplitHostPort(addr)
	return Loopback(host)
}

// Loopback tells whether a host is the machine itself, whoever looks.
func Loopback(host string) bool {
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.IsLoopback()
}

// Local is the address by which a client on the same machine reaches a listener on addr.
func Local(addr string) string {
	host, port, err := net.SplitHostPort(addr)
	switch {
	case err != nil || !wildcard(host):
		return addr
	case strings.Contains(host, ":"):
		return net.JoinHostPort("::1", port)
	}
	return net.JoinHostPort("127.0.0.1", port)
}

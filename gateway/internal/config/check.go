// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package config

import (
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
)

// Pair is a setting in effect: its variable and its value, masked if it is secret.
type Pair struct{ Variable, Value string }

// Changed lists the settings that are not at their defaults, in the order of Print. What follows from another setting, as the
// advertised host does from the address that is listened on, is at its default where it does.
func (c Config) Changed() ([]Pair, error) {
	line := commandLine{Config: c}
	parser, err := newParser(&line, decoders(new(Faults)))
	if err != nil {
		return nil, err
	}
	var changed []Pair
	for _, flag := range parser.Model.Flags {
		if value := format(flag.Value); value != flag.Default && !c.follows(flag.Name, value) && flag.Name != "help" {
			changed = append(changed, Pair{variable(flag.Name), value})
		}
	}
	return changed, nil
}

// follows tells whether a value is what a setting has if nothing is said of it (complete).
func (c *Config) follows(flag, value string) bool {
	bound := func(addr string) (host, port string) {
		host, port, _ = net.SplitHostPort(addr)
		return host, port
	}
	host, port := bound(c.BindAddr)
	tlsHost, tlsPort := bound(c.TLSBindAddr)
	switch flag {
	case mainListener.host:
		return value == host
	case mainListener.port:
		return value == port
	case tlsListener.host:
		return value == tlsHost
	case tlsListener.port:
		return value == tlsPort
	case "auto-create-topics":
		return c.Embedded && c.AutoCreateTopics
	case "iggy-password":
		return c.Embedded && c.IggyPassword == embeddedPassword
	}
	return false
}

// PrintCheck says what has been checked, all of it without a fault: a configuration that Load returns has none.
func (c Config) PrintCheck(w io.Writer) error {
	changed, err := c.Changed()
	if err != nil {
		return err
	}
	var text strings.Builder
	say := func(format string, args ...any) { fmt.Fprintf(&text, "ok: "+format+"\n", args...) }
	advertised := func(addr, host string, port int32) {
		say("clients connect to %s and are told to connect to %s", addr, net.JoinHostPort(host, strconv.Itoa(int(port))))
	}
	say("the settings; not at their defaults: %d", len(changed))
	for _, s := range changed {
		fmt.Fprintf(&text, "      %s=%s\n", s.Variable, s.Value)
	}
	advertised(c.BindAddr, c.AdvertisedHost, c.AdvertisedPort)
	if c.TLSBindAddr != "" {
		advertised(c.TLSBindAddr, c.TLSAdvertisedHost, c.TLSAdvertisedPort)
	}
	if c.TLSCertFile != "" {
		say("the certificate in %s and the key in %s belong together", c.TLSCertFile, c.TLSKeyFile)
	}
	switch {
	case !c.BridgeEnabled:
		say("no iggy is used")
	case c.Embedded:
		say("an iggy runs in this process")
	default:
		say("iggy is looked for at %s, as the user %q", c.IggyAddr, c.IggyUsername)
	}
	if c.IggyPasswordFile != "" {
		say("there is a password in %s", c.IggyPasswordFile)
	}
	if c.IggyTLSCAFile != "" {
		say("there are certificates in %s", c.IggyTLSCAFile)
	}
	if c.TopicMapPath != "" {
		say("the topic map %s, whose topics are in the streams %q", c.TopicMapPath, c.Names.Streams())
	}
	text.WriteString("Nothing is wrong. Nothing was connected to: once the gateway runs, iggy-kafka-gateway doctor does that.\n")
	_, err = io.WriteString(w, text.String())
	return err
}

// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package config

import (
	"crypto/x509"
	"errors"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/iggy-kafka/iggy-kafka/bridge"
)

// complete fills in the defaults that hang on other settings and checks the settings against each other. Settings that
// are at fault already are left out of it: their values mean nothing.
func complete(c *Config, given map[string]bool, before Faults) Faults {
	var faults Faults
	sound := func(flags ...string) bool {
		return !slices.ContainsFunc(before, func(f Fault) bool {
			return slices.ContainsFunc(flags, func(flag string) bool { return f.Variable == variable(flag) })
		})
	}
	fault := func(flag, value, reason string) {
		faults = append(faults, Fault{variable(flag), value, reason})
	}

	if c.Embedded && !given["auto-create-topics"] {
		c.AutoCreateTopics = true
	}
	faults = append(faults, completeListener(mainListener, c.BindAddr, &c.AdvertisedHost, &c.AdvertisedPort, given, sound)...)
	faults = append(faults, completeTLS(c, given, sound)...)
	faults = append(faults, checkPorts(c, sound)...)

	for _, part := range []struct {
		flag string
		size int64
		of   string
		all  int64
	}{
		{"max-frame-size", int64(c.MaxFrameSize), "frame-budget", c.FrameBudget},
		{"max-decompressed-size", c.MaxDecompressedSize, "decode-budget", c.DecodeBudget},
		{"max-response-size", c.MaxResponseSize, "response-budget", c.ResponseBudget},
	} {
		// Large requests may take four fifths of a budget; the rest is kept for small ones.
		if sound(part.flag, part.of) && part.size > part.all/5*4 {
			fault(part.flag, strconv.FormatInt(part.size, 10),
				"above four fifths of "+variable(part.of)+" ("+strconv.FormatInt(part.all, 10)+"): it could never be served")
		}
	}
	if sound("fetch-max-bytes", "max-response-size") && c.FetchMaxBytes > c.MaxResponseSize {
		fault("fetch-max-bytes", strconv.FormatInt(c.FetchMaxBytes, 10), "above "+variable("max-response-size"))
	}

	if sound("dedup-tail-min-messages", "dedup-tail-max-messages") && c.DedupTailMin > c.DedupTailMax {
		fault("dedup-tail-min-messages", strconv.Itoa(c.DedupTailMin), "above "+variable("dedup-tail-max-messages"))
	}
	if patterns, err := parsePatterns(c.ExclusiveTopics); err == nil {
		c.Exclusive = patterns
	}
	if sound("group-min-session-timeout-ms", "group-max-session-timeout-ms") && c.GroupMinSessionTimeout > c.GroupMaxSessionTimeout {
		fault("group-min-session-timeout-ms", strconv.FormatInt(c.GroupMinSessionTimeout.Milliseconds(), 10),
			"above "+variable("group-max-session-timeout-ms"))
	}
	if c.StateTopic == TransactionTopic {
		fault("state-topic", c.StateTopic, "the name of another internal topic")
	}
	if c.NativeOffsetMirror && !c.BridgeEnabled {
		fault("native-offset-mirror", "true", "contradicts "+variable("bridge-enabled")+"=false: there is no iggy to copy offsets to")
	}
	if c.SASLEnabled && !c.BridgeEnabled {
		fault("sasl-enabled", "true", "contradicts "+variable("bridge-enabled")+"=false: there is no iggy that knows its users")
	}
	if c.SASLEnabled && sound("produce-sessions") && c.ProduceSessions == 0 {
		fault("produce-sessions", "0", "contradicts "+variable("sasl-enabled")+"=true: users do not share a connection to iggy")
	}
	if c.Embedded && !c.BridgeEnabled {
		fault("bridge-enabled", "false", "contradicts "+variable("embedded")+"=true: the embedded server would not be used")
	}
	if c.Embedded && given["iggy-addr"] {
		fault("iggy-addr", c.IggyAddr, "contradicts "+variable("embedded")+"=true: the embedded server is used, not this one")
	}
	if c.Embedded && c.IggyTLSEnabled {
		fault("iggy-tls-enabled", "true", "the embedded server has no TLS")
	}
	if !c.IggyTLSEnabled {
		for _, set := range []struct{ flag, value string }{{"iggy-tls-domain", c.IggyTLSDomain}, {"iggy-tls-ca-file", c.IggyTLSCAFile}} {
			if set.value != "" && sound("iggy-tls-enabled") {
				fault(set.flag, set.value, "says nothing without "+variable("iggy-tls-enabled")+"=true")
			}
		}
	} else if _, err := c.IggyAuthorities(); err != nil {
		fault("iggy-tls-ca-file", c.IggyTLSCAFile, err.Error())
	}
	faults = append(faults, completeNames(c)...)
	faults = append(faults, completePassword(c, given, sound("embedded", "bridge-enabled"))...)
	if c.Embedded { // Iggy's rules for who is made there
		if n := len(c.IggyUsername); n > 0 && (n < 3 || n > 50) {
			fault("iggy-username", c.IggyUsername, "the embedded server's user has a name of 3 to 50 bytes")
		}
		if n := len(c.IggyPassword); n > 0 && (n < 3 || n > 100) {
			fault("iggy-password", mask, "the embedded server's user has a password of 3 to 100 bytes")
		}
	}
	return faults
}

// IggyAuthorities are those that may have signed Iggy's certificate; nil: the system's.
func (c Config) IggyAuthorities() (*x509.CertPool, error) {
	if c.IggyTLSCAFile == "" {
		return nil, nil
	}
	pem, err := os.ReadFile(c.IggyTLSCAFile)
	if err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(pem) {
		return nil, errors.New("there is no certificate in it")
	}
	return pool, nil
}

// completeNames reads the topic map, if there is one: its default stream wins over the setting.
func completeNames(c *Config) Faults {
	if c.TopicMapPath == "" {
		c.Names = bridge.NewNames(c.IggyStream)
		return nil
	}
	text, err := os.ReadFile(c.TopicMapPath)
	if err == nil {
		c.Names, err = bridge.ParseTopicMap(text)
	}
	var faults Faults
	for _, err := range each(err) {
		reason := err.Error()
		if wrong := (*bridge.TopicMapError)(nil); errors.As(err, &wrong) {
			reason = wrong.Reason
		}
		faults = append(faults, Fault{variable("topic-map-path"), c.TopicMapPath, reason})
	}
	return faults
}

// each takes apart what errors.Join put together.
func each(err error) []error {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		return joined.Unwrap()
	}
	if err == nil {
		return nil
	}
	return []error{err}
}

// embeddedPassword is that of the embedded server's user, if nobody gives it another.
const embeddedPassword = "iggy"

// DefaultPassword tells whether the password is the one that everybody knows.
func (c Config) DefaultPassword() bool { return c.IggyPassword == embeddedPassword }

// completePassword finds the password: given, in a file, or the embedded server's own. That none was given is a fault only
// where it is known that one is needed.
func completePassword(c *Config, given map[string]bool, needKnown bool) Faults {
	name, file := variable("iggy-password"), variable("iggy-password-file")
	switch {
	case given["iggy-password"] && c.IggyPasswordFile != "":
		return Faults{{file, c.IggyPasswordFile, "set together with " + name}}
	case c.IggyPasswordFile != "":
		text, err := os.ReadFile(c.IggyPasswordFile)
		if err != nil {
			return Faults{{file, c.IggyPasswordFile, err.Error()}}
		}
		c.IggyPassword = Secret(strings.TrimRight(string(text), "\r\n"))
		if c.IggyPassword == "" {
			return Faults{{file, c.IggyPasswordFile, "the file is empty"}}
		}
	case c.IggyPassword != "" || !c.BridgeEnabled || !needKnown:
	case c.Embedded:
		c.IggyPassword = embeddedPassword
	default:
		return Faults{{name, "", "required (or " + file + ", or " + variable("embedded") + "=true)"}}
	}
	return nil
}

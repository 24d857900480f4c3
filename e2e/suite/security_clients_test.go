// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package suite

import (
	"bytes"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/iggy-kafka/iggy-kafka/e2e/clients"
)

// way is one way in.
type way struct {
	addr     string
	security clients.Security
}

// testSecuredClients has clients log in with and without TLS, and with a wrong password; those that can do so show a
// certificate instead.
func testSecuredClients(t *testing.T, login, mutual *secured) {
	app := clients.Security{User: appUser, Password: appPassword}
	logins := []way{{login.Kafka, app}, {login.tls, login.overTLS(t, app)}}
	certificate := way{mutual.tls, mutual.overTLS(t, clients.Security{})}

	for _, client := range []struct {
		name string
		at   func(way) clients.Application
		told string // what its error says of a wrong password
		ways []way
	}{
		{"franz-go", func(w way) clients.Application { return clients.Franz{Addr: w.addr, Security: w.security} },
			"SASL_AUTHENTICATION_FAILED", append(slices.Clip(logins), certificate)},
		{"sarama", func(w way) clients.Application { return clients.Sarama{Addr: w.addr, Security: w.security} },
			"SASL Authentication failed", logins},
		{"sarama, bare tokens", func(w way) clients.Application {
			return clients.Sarama{Addr: w.addr, Security: w.security, BareTokens: true}
		}, "EOF", logins}, // there is no answer that could tell more
	} {
		t.Run(client.name, func(t *testing.T) {
			t.Parallel()
			s := &securedClient{T: t, name: client.name}
			defer s.report(login)
			for _, w := range client.ways {
				s.use(client.at(w), w)
			}
			for _, w := range logins {
				_, err := client.at(wrong(w)).Topics(within(t, limit))
				s.told(w, client.told, err)
			}
		})
	}
	for _, program := range clients.Programs() {
		told, ok := map[string]string{
			"confluent-kafka": "_AUTHENTICATION", "aiokafka": "SaslAuthenticationFailed", "kafkajs": "KafkaJSSASLAuthenticationError",
		}[program.Client]
		if !ok || program.Release != "" || !slowClients(login.Target) {
			continue
		}
		t.Run(program.String(), func(t *testing.T) {
			if err := prepareProgram(t, program); err != nil {
				missing(t, program.Tools[0], err)
			}
			t.Parallel()
			s := &securedClient{T: t, name: program.Client}
			defer s.report(login)
			for _, w := range logins {
				s.running(program, w, func(client clients.Application) error {
					s.use(client, w)
					return nil
				})
			}
			last := logins[len(logins)-1] // one is enough: some take their time to give up
			s.told(last, told, s.running(program, wrong(last), func(client clients.Application) error {
				_, err := client.Topics(within(t, limit))
				return err
			}))
		})
	}
	t.Run("kcat", func(t *testing.T) {
		requireTool(t, "kcat")
		t.Parallel()
		testSecuredKcat(t, login, logins, certificate)
	})
}

func wrong(w way) way {
	w.security.User, w.security.Password = noUser, noPassword
	return w
}

// securedClient is a client on its way through the test.
type securedClient struct {
	*testing.T
	name, version string
	exercised     []string
}

func (s *securedClient) report(login *secured) {
	s.Helper()
	report(s.T, login.Target, s.name+", secured", s.version, strings.Join(s.exercised, ", "), !s.Failed())
}

// running runs a program for as long as use takes. What it wrote besides is put to the error: some clients say there alone
// what went wrong.
func (s *securedClient) running(program clients.Program, w way, use func(clients.Application) error) error {
	s.Helper()
	program.Security = w.security
	process, err := program.Start(s.Context(), clientsFolder, w.addr)
	if err != nil {
		s.Fatal(err)
	}
	defer func() {
		if s.Failed() {
			s.Logf("%s wrote:\n%s", process.Name(), process.Log())
		}
	}()
	err = use(process)
	if closed := process.Close(); closed != nil {
		s.Error(closed)
	}
	if err != nil {
		err = fmt.Errorf("%w\n%s", err, process.Log())
	}
	return err
}

// use writes, reads in a group and lists.
func (s *securedClient) use(client clients.Application, w way) {
	s.Helper()
	protocol := w.security.Protocol()
	a := &application{Application: client, t: s.T, addr: w.addr, topic: topicName(s.T)}
	s.version = a.version()
	if err := (clients.Franz{Addr: w.addr, Security: w.security}).CreateTopic(within(s.T, limit), a.topic, 1); err != nil {
		s.Fatalf("%s: creating a topic: %v", protocol, err)
	}
	records := a.records()
	produce(s.T, client, clients.Destination{Topic: a.topic, Codec: "none", Acks: clients.AcksAll}, records, 0)
	read, err := client.ConsumeGroup(within(s.T, limit), a.topic, a.topic, len(records))
	if err != nil {
		s.Fatalf("%s: reading in a group: %v", protocol, err)
	}
	a.compare(protocol, at(0, records), read[0])
	a.step(protocol, a.findTopic)
	s.exercised = append(s.exercised, protocol)
}

// told checks what a client says after a wrong password.
func (s *securedClient) told(w way, want string, err error) {
	s.Helper()
	if err == nil || !strings.Contains(err.Error(), want) {
		s.Errorf("%s: a wrong password is told as %v, want %s", w.security.Protocol(), err, want)
	}
	if s.exercised[len(s.exercised)-1] != "wrong password" {
		s.exercised = append(s.exercised, "wrong password")
	}
}

// testSecuredKcat does the same with kcat.
func testSecuredKcat(t *testing.T, login *secured, logins []way, certificate way) {
	version, err := exec.Command("kcat", "-V").Output()
	if err != nil {
		t.Fatal(err)
	}
	s := &securedClient{T: t, name: "kcat", version: kcatVersion(t, string(version))}
	defer s.report(login)
	for _, w := range append(slices.Clip(logins), certificate) {
		topic := topicName(t)
		if err := (clients.Franz{Addr: w.addr, Security: w.security}).CreateTopic(within(t, limit), topic, 1); err != nil {
			t.Fatal(err)
		}
		for _, step := range []struct{ stdin, want, args string }{
			{"a\nb\nc\n", "", "-P -t " + topic},
			{"", "a\nb\nc\n", "-G " + topic + " -e -X auto.offset.reset=earliest " + topic},
		} {
			if out, log, err := kcatOver(t, w, step.stdin, strings.Fields(step.args)...); err != nil || out != step.want {
				t.Errorf("%s: kcat %s: %v, prints %q, want %q\n%s", w.security.Protocol(), step.args, err, out, step.want, log)
			}
		}
		s.exercised = append(s.exercised, w.security.Protocol())
	}
	for _, w := range logins {
		if _, log, err := kcatOver(t, wrong(w), "", "-L", "-m", "3"); err == nil || !strings.Contains(log, "SASL authentication error") {
			t.Errorf("%s: a wrong password is told as %v\n%s", w.security.Protocol(), err, log)
		}
	}
	nameless := certificate
	nameless.security.Cert, nameless.security.Key = "", ""
	if _, log, err := kcatOver(t, nameless, "", "-L", "-m", "3"); err == nil || !strings.Contains(log, "certificate required") {
		t.Errorf("no certificate: %v\n%s", err, log)
	}
	s.exercised = append(s.exercised, "wrong password", "missing certificate")
}

// kcatVersion is that of librdkafka in it, of which kcat's security is.
func kcatVersion(t *testing.T, about string) string {
	t.Helper()
	var version, library string
	for _, field := range []struct {
		after string
		to    *string
	}{{"Version ", &version}, {"librdkafka ", &library}} {
		_, rest, ok := strings.Cut(about, field.after)
		if !ok {
			t.Fatalf("kcat -V prints %s", about)
		}
		*field.to = strings.Fields(rest)[0]
	}
	return fmt.Sprintf("%s, librdkafka %s", version, library)
}

// kcatOver runs kcat and returns what it prints.
func kcatOver(t *testing.T, w way, stdin string, args ...string) (out, log string, err error) {
	t.Helper()
	settings := map[string]string{
		"security.protocol": w.security.Protocol(),
		"sasl.mechanisms":   "PLAIN", "sasl.username": w.security.User, "sasl.password": w.security.Password,
		"ssl.ca.location": w.security.CA, "ssl.certificate.location": w.security.Cert, "ssl.key.location": w.security.Key,
	}
	all := []string{"-b", w.addr}
	for name, value := range settings {
		if value != "" && (w.security.User != "" || !strings.HasPrefix(name, "sasl.")) {
			all = append(all, "-X", name+"="+value)
		}
	}
	cmd := exec.CommandContext(within(t, limit), "kcat", append(all, args...)...)
	var stdout, stderr bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(stdin), &stdout, &stderr
	err = cmd.Run()
	return stdout.String(), stderr.String(), err
}

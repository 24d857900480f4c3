// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package suite

import (
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"testing"

	iggcon "github.com/apache/iggy/foreign/go/contracts"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggy-kafka/iggy-kafka/e2e/clients"
	"github.com/iggy-kafka/iggy-kafka/e2e/harness"
)

// TestSecrets gives a gateway secrets that are known again wherever they come up, by every way in, right and wrong, and
// looks for them in all that it says: its log at the most talkative level, its settings as it prints them, its pages, its
// answers.
func TestSecrets(t *testing.T) {
	if testing.Short() {
		t.Skip("starts servers: not in short mode")
	}
	const (
		ownPassword = "opensesame-the-gateway-itself"
		password    = "opensesame-a-client"
		wrongOne    = "opensesame-mistaken"
		wrongToken  = "opensesame-no-token"
		misplaced   = "opensesame-misplaced" // where no secret belongs
		settingTypo = "opensesame-typo"
	)
	build := builder(t)
	bin, err := build()
	if err != nil {
		t.Fatal(err)
	}
	s := startSecured(t, harness.Kinds()[0], build, false, append(saslOn,
		"IGGY_KAFKA_LOG_LEVEL=debug", "IGGY_KAFKA_ADMIN_PPROF=true", "IGGY_KAFKA_IGGY_PASSWORD="+ownPassword)...)
	s.Iggy.Password = ownPassword
	addUser(t, s.Target, appUser, password, iggcon.GlobalPermissions{ManageTopics: true, ManageStreams: true})
	native := dialIggy(t, s.Target)
	if _, err := native.client.LoginUser(appUser, password); err != nil {
		t.Fatal(err)
	}
	token, err := native.client.CreatePersonalAccessToken("secrets", 0)
	if err != nil {
		t.Fatal(err)
	}
	keyText, err := os.ReadFile(s.cert.Key)
	if err != nil {
		t.Fatal(err)
	}
	keyLine := strings.Split(string(keyText), "\n")[1]

	said := map[string]string{} // what, by where
	use := func(name string, w way, right bool) {
		topics, err := (clients.Franz{Addr: w.addr, Security: w.security}).Topics(within(t, limit))
		if (err == nil) != right {
			t.Errorf("%s: %v", name, err)
		}
		said[name] = fmt.Sprint(topics, err)
	}
	for name, tls := range map[string]bool{"SASL_PLAINTEXT": false, "SASL_SSL": true} {
		in := func(user, password string) way {
			security := clients.Security{User: user, Password: password}
			if tls {
				return way{s.tls, s.overTLS(t, security)}
			}
			return way{s.Kafka, security}
		}
		use(name+", password", in(appUser, password), true)
		use(name+", token", in("$token", token.Token), true)
		use(name+", wrong password", in(noUser, wrongOne), false)
		use(name+", wrong token", in("$token", wrongToken), false)
		use(name+", the password as a name", in(misplaced, password), false)
	}
	for name, text := range map[string]string{
		"no separators": misplaced, "an authorization id": misplaced + "\x00" + appUser + "\x00" + password,
		"another field": "\x00" + noUser + "\x00" + wrongOne + "\x00" + misplaced, "nothing": "",
	} {
		conn := dialRaw(t, s.Target)
		askRaw[*kmsg.SASLHandshakeResponse](t, conn, handshakeOf(1, "PLAIN"))
		resp, err := conn.Ask(within(t, limit), authenticateWith([]byte(text)))
		if err == nil {
			if answer := resp.(*kmsg.SASLAuthenticateResponse); answer.ErrorCode == 0 {
				t.Errorf("%s: let in", name)
			} else if answer.ErrorMessage != nil {
				said["answer to a token with "+name] = *answer.ErrorMessage
			}
		}
	}
	for _, page := range []string{"/", "/healthz", "/readyz", "/metrics", "/debug/pprof/goroutine?debug=2", "/debug/pprof/cmdline"} {
		resp, err := http.Get("http://" + s.Admin + page)
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		said["page "+page] = string(text)
	}
	for command, settings := range map[string][]string{
		"print-config": {"IGGY_KAFKA_EMBEDDED=true", "IGGY_KAFKA_IGGY_PASSWORD=" + ownPassword, "IGGY_KAFKA_TLS_CERT_FILE=" + s.cert.Cert, "IGGY_KAFKA_TLS_KEY_FILE=" + s.cert.Key},
		"check":        {"IGGY_KAFKA_IGGY_PASWORD=" + settingTypo, "IGGY_KAFKA_IGGY_PASSWORD=" + ownPassword, "IGGY_KAFKA_IGGY_PASSWORD_FILE=" + s.cert.Key},
		"--help":       {"IGGY_KAFKA_IGGY_PASSWORD=" + ownPassword},
	} {
		cmd := exec.CommandContext(within(t, limit), bin.Gateway, command)
		cmd.Env = settings
		text, _ := cmd.CombinedOutput() // check fails: that is what it is asked
		said[command] = string(text)
	}
	if err := s.Gateway.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	said["log"] = gatewayLog(t, s.Target)
	if err := s.Gateway.Start(t.Context()); err != nil { // who closes the target finds it running
		t.Fatal(err)
	}

	for where, text := range said {
		for _, secret := range []string{ownPassword, password, wrongOne, wrongToken, token.Token, keyLine, settingTypo} {
			for _, form := range []string{
				secret, hex.EncodeToString([]byte(secret)), strings.Trim(fmt.Sprint([]byte(secret)), "[]"),
				base64.StdEncoding.EncodeToString([]byte(secret)),
			} {
				if strings.Contains(text, form) {
					t.Errorf("%s: there is %s, in\n%s", where, form, text)
				}
			}
		}
	}
	if !strings.Contains(said["log"], "level=DEBUG") && !strings.Contains(said["log"], "connection closed") {
		t.Errorf("the log says nothing:\n%s", said["log"])
	}
	if !strings.Contains(said["print-config"], "IGGY_KAFKA_IGGY_PASSWORD=******") {
		t.Errorf("print-config prints\n%s", said["print-config"])
	}
}

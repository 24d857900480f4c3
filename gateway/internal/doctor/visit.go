// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggy-kafka/iggy-kafka/gateway/internal/config"
	"github.com/iggy-kafka/iggy-kafka/gateway/internal/diagnosis"
)

// visit is one server's examination as far as every client has to come before it knows the cluster. Each step stands on the one
// before it. It is used by one goroutine.
type visit struct {
	*Options
	host, port string

	conn    net.Conn // nil: there is none
	session *session
	cluster *kmsg.MetadataResponse
}

func newVisit(o *Options, address string) *visit {
	host, port, err := net.SplitHostPort(address)
	if err != nil { // an Options with a Fault
		host = address
	}
	return &visit{Options: o, host: host, port: port}
}

func (v *visit) address() string { return net.JoinHostPort(v.host, v.port) }

func (v *visit) close() {
	if v.conn != nil {
		v.conn.Close()
	}
}

// travel takes all the steps and returns the first that failed, or the last.
func (v *visit) travel(ctx context.Context) (f finding) {
	for _, step := range []func(context.Context) finding{v.resolve, v.connect, v.secure, v.greet, v.login, v.learn} {
		if f = step(ctx); f.Status == Failed {
			return f
		}
	}
	return f
}

func (v *visit) resolve(ctx context.Context) finding {
	if _, err := netip.ParseAddr(v.host); err == nil {
		return ok("%s is an address, there is nothing to look up", v.host)
	}
	addrs, err := net.DefaultResolver.LookupNetIP(ctx, "ip", v.host)
	var unknown *net.DNSError
	switch {
	case err == nil:
		texts := make([]string, len(addrs))
		for i, a := range addrs {
			texts[i] = a.Unmap().String()
		}
		return ok("%s is %s", shown(v.host), strings.Join(texts, ", "))
	case errors.As(err, &unknown) && unknown.IsNotFound:
		return failed("this machine knows no host "+shown(v.host),
			"Look for a typing error. If the name is right, it has to be in the DNS that this machine asks, or in its hosts file.")
	}
	return failed("the name "+shown(v.host)+" cannot be looked up: "+cause(err), "Look at this machine's DNS settings and its network.")
}

func (v *visit) connect(ctx context.Context) finding {
	began := time.Now()
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", v.address())
	switch {
	case err == nil:
		v.conn = conn
		return ok("%s, in %v", conn.RemoteAddr(), Millis(time.Since(began)))
	case errors.Is(err, syscall.ECONNREFUSED):
		return failed("nobody listens at "+v.address()+" (connection refused)",
			"Is the gateway running, and is this its port? Its log says \"serving kafka clients\" with the address. "+
				"If it listens on 127.0.0.1, only clients on its own machine reach it: set IGGY_KAFKA_BIND_ADDR.")
	case isTimeout(err):
		return failed(v.address()+" does not answer", "A firewall or a wrong address: nothing came back at all.")
	}
	return failed("no way to "+v.address()+": "+cause(err), "Look at the address, and at this machine's network.")
}

func (v *visit) secure(ctx context.Context) finding {
	if v.Target.TLS == nil {
		return skipped("not asked for (--tls)")
	}
	config := v.Target.TLS.Clone()
	if config.ServerName == "" {
		config.ServerName = v.host
	}
	conn := tls.Client(v.conn, config)
	began := time.Now()
	err := v.within(ctx, func(ctx context.Context) error { return conn.HandshakeContext(ctx) })
	if err != nil {
		return v.insecure(ctx, err)
	}
	v.conn = conn
	state := conn.ConnectionState()
	leaf := state.PeerCertificates[0]
	found := fmt.Sprintf("%s, the certificate is good until %s, in %v", tls.VersionName(state.Version), leaf.NotAfter.Format(time.DateOnly),
		Millis(time.Since(began)))
	if time.Until(leaf.NotAfter) < 7*24*time.Hour {
		return warning(found, "Renew the certificate; the gateway reads new files within seconds.")
	}
	return finding{OK, found, ""}
}

func (v *visit) greet(ctx context.Context) finding {
	v.session = &session{conn: v.conn, version: v.Version}
	err := v.within(ctx, v.session.greet)
	if err == nil {
		return ok("speaks Kafka: %d kinds of requests", len(v.session.served))
	}
	if wantsCertificate(err) {
		return failed("the server wants a client certificate that it trusts: "+cause(err), adviceClientCertificate)
	}
	var spoken protocol
	if other := (*notKafka)(nil); errors.As(err, &other) {
		spoken = recognise(other.head)
	}
	if spoken == "" || spoken == unknown && v.Target.TLS == nil {
		spoken = v.identify(ctx)
	}
	return v.stranger(spoken, err)
}

// stranger says what it means that a server does not speak Kafka, but something else.
func (v *visit) stranger(spoken protocol, err error) finding {
	switch {
	case spoken == speaksTLS && v.Target.TLS == nil:
		return failed(v.address()+" speaks TLS, and you said plain", "Ask for TLS (--tls, with --tls-ca-file for an authority of your own; "+
			"in Kafka's clients security.protocol=SSL or SASL_SSL), or use the plain listener's port.")
	case spoken == speaksKafka && v.Target.TLS != nil:
		return failed(v.address()+" speaks Kafka without TLS, and you said TLS", "Leave --tls out (in Kafka's clients security.protocol=PLAINTEXT or "+
			"SASL_PLAINTEXT), use the TLS listener's port, or give the gateway a certificate (IGGY_KAFKA_TLS_CERT_FILE).")
	case spoken == speaksHTTP:
		return failed(v.address()+" is an HTTP server, not Kafka", "The port is another one. The gateway's admin listener (9094 by default) speaks HTTP; "+
			"clients use IGGY_KAFKA_BIND_ADDR (9093 by default).")
	case spoken == silent && isTimeout(err):
		return failed(v.address()+" accepts connections and says nothing", "The server hangs, or is something else that waits for its client to begin "+
			"in another protocol. Look at its process and its log.")
	case spoken == silent, spoken == speaksKafka:
		return failed(v.address()+" closes the connection: "+cause(err), "The server may be full (IGGY_KAFKA_MAX_CONNECTIONS), about to stop, "+
			"or no Kafka server at all. The gateway's log says why it closed a connection.")
	}
	return failed(v.address()+" does not speak Kafka: "+cause(err), "The port is another server's. The gateway's log says where it serves Kafka clients.")
}

func (v *visit) login(ctx context.Context) finding {
	t := &v.Target
	if t.User == "" {
		return skipped("no user was given (--user)")
	}
	if t.Own && t.TLS == nil && !onThisMachine(v.conn.RemoteAddr()) {
		return failed("the password of the gateway's own user is not sent to "+shown(v.address())+" in the clear", adviceOwnUser)
	}
	shake, hands := kmsg.NewPtrSASLHandshakeRequest(), kmsg.NewPtrSASLHandshakeResponse()
	shake.Mechanism = "PLAIN"
	switch err := v.session.ask(ctx, shake, 1, hands); {
	case errors.Is(err, errUnserved):
		return failed("the server knows no logins", adviceNoLogin)
	case err != nil:
		return v.cutOff("the handshake of the login", err)
	}
	const unsupportedMechanism, illegalState, failedLogin = 33, 34, 58
	switch hands.ErrorCode {
	case 0:
	case unsupportedMechanism:
		return failed(fmt.Sprintf("the server offers no PLAIN, but %q", hands.SupportedMechanisms),
			"This doctor logs in by PLAIN alone, as the gateway does; examine a listener that offers it.")
	case illegalState:
		return failed("this listener wants no login", adviceNoLogin)
	default:
		return failed("the login is refused at once: "+code(hands.ErrorCode), adviceNoLogin)
	}
	token, resp := kmsg.NewPtrSASLAuthenticateRequest(), kmsg.NewPtrSASLAuthenticateResponse()
	token.SASLAuthBytes = fmt.Appendf(nil, "\x00%s\x00%s", t.User, t.Password.Reveal())
	began := time.Now()
	err := v.session.ask(ctx, token, 2, resp)
	clear(token.SASLAuthBytes)
	switch {
	case err != nil:
		return v.cutOff("the login", err)
	case resp.ErrorCode == failedLogin:
		return failed(fmt.Sprintf("the user %s is refused: %s", shown(t.User), shown(deref(resp.ErrorMessage))),
			"Wrong password, unknown user, or one that is not active: the three are told alike. Users are Iggy's. After a wrong password "+
				"the same user is refused for a moment from the same address; wait half a minute and try again.")
	case resp.ErrorCode != 0:
		return failed("the login fails: "+code(resp.ErrorCode)+" "+shown(deref(resp.ErrorMessage)), "Look at the gateway's log.")
	}
	found := fmt.Sprintf("as %s, in %v", shown(t.User), Millis(time.Since(began)))
	if t.TLS == nil && !config.LoopbackAddr(v.conn.RemoteAddr().String()) {
		return warning(found+", and the password crossed the network in the clear", "Use a TLS listener where passwords are used.")
	}
	return finding{OK, found, ""}
}

func (v *visit) learn(ctx context.Context) finding {
	req, resp := kmsg.NewPtrMetadataRequest(), kmsg.NewPtrMetadataResponse()
	req.Topics = []kmsg.MetadataRequestTopic{} // none; null would be all
	if !v.session.serves(kmsg.Metadata, 2) {
		return failed("the server is too old: it knows no cluster ids", "Kafka has them since 0.10.1.")
	}
	// Version 12 is the last whose answer does not lack anything that is used here.
	err := v.session.ask(ctx, req, 12, resp)
	switch {
	case err != nil && v.Target.User == "" && !isTimeout(err):
		return failed("the server closes the connection at the first request that needs a login: "+cause(err),
			"It wants a login: give --user, and the password by --password-file or in KAFKA_PASSWORD.")
	case err != nil:
		return v.cutOff("Metadata", err)
	case len(resp.Brokers) == 0:
		return failed("the server knows no brokers, not even itself", "Look at its log.")
	case resp.ClusterID == nil:
		return failed("the server knows no cluster id", "Look at its log.")
	}
	v.cluster = resp
	return ok("cluster %s, %s", shown(*resp.ClusterID), count(len(resp.Brokers), "broker"))
}

// cutOff is what it means that a server that speaks Kafka does not answer a request.
func (v *visit) cutOff(doing string, err error) finding {
	switch {
	case wantsCertificate(err):
		return failed("the server wants a client certificate that it trusts: "+cause(err), adviceClientCertificate)
	case isTimeout(err):
		return failed("no answer to "+doing, "The gateway waits for Iggy, or hangs: look at its log and, at its admin listener, at /readyz.")
	case diagnosis.HungUp(err):
		return failed("the connection was closed instead of an answer to "+doing,
			"The gateway's log says why, in the line \"connection closed\". A login is cut off so when Iggy could not be asked about it in time.")
	}
	return failed("no answer to "+doing+": "+cause(err), "Look at the gateway's log.")
}

// within gives what needs an answer a part of a step's time, so that enough is left to find out why there was none (identify).
func (v *visit) within(ctx context.Context, ask func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, v.StepTimeout/3)
	defer cancel()
	return ask(ctx)
}

// onThisMachine says whether an address is one of this machine's own.
func onThisMachine(addr net.Addr) bool {
	if config.LoopbackAddr(addr.String()) {
		return true
	}
	tcp, ok := addr.(*net.TCPAddr)
	if !ok {
		return false
	}
	own, _ := net.InterfaceAddrs() // none, if they cannot be had
	return slices.ContainsFunc(own, func(a net.Addr) bool {
		n, ok := a.(*net.IPNet)
		return ok && n.IP.Equal(tcp.IP)
	})
}

const (
	adviceOwnUser = "Log in as a client does: --user NAME, and its password in KAFKA_PASSWORD or --password-file. Who advertises the wrong address would give " +
		"this password away."
	adviceNoLogin           = "Leave --user out, or give the gateway logins (IGGY_KAFKA_SASL_ENABLED=true)."
	adviceClientCertificate = "Give --tls-cert-file and --tls-key-file, with a certificate of an authority that the server knows (IGGY_KAFKA_TLS_CLIENT_CA_FILE)."
)

func isTimeout(err error) bool {
	var network net.Error
	return errors.Is(err, context.DeadlineExceeded) || errors.Is(err, os.ErrDeadlineExceeded) || errors.As(err, &network) && network.Timeout()
}

// cause is an error in a form that can be printed.
func cause(err error) string {
	if errors.Is(err, io.EOF) {
		return "closed without an answer"
	}
	return printable(err.Error())
}

func deref(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// count is a number of things.
func count(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}

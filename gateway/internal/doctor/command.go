// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/alecthomas/kong"

	"github.com/iggy-kafka/iggy-kafka/gateway/internal/config"
)

// passwordVariable has the password. There is no flag for it: whoever lists a machine's processes would see it.
const passwordVariable = "KAFKA_PASSWORD"

// arguments is the doctor's command line.
type arguments struct {
	Address      string        `arg:"" optional:"" help:"The bootstrap server, HOST:PORT; without it the gateway's own settings, from the environment, say where it is, whether it speaks TLS, and who may log in."`
	TLS          bool          `name:"tls" help:"Speak TLS."`
	TLSCAFile    string        `name:"tls-ca-file" type:"path" placeholder:"FILE" help:"PEM file of the authorities to trust; the system's if empty."`
	TLSCertFile  string        `name:"tls-cert-file" type:"path" placeholder:"FILE" help:"PEM file of a client certificate."`
	TLSKeyFile   string        `name:"tls-key-file" type:"path" placeholder:"FILE" help:"PEM file of its private key."`
	User         string        `help:"Log in by SASL/PLAIN as this user; the password is in KAFKA_PASSWORD or in a file."`
	PasswordFile string        `type:"path" placeholder:"FILE" help:"File that holds the password."`
	Topic        string        `help:"Write the probe records to this topic, where they stay, instead of one that is made for them and deleted again."`
	Admin        string        `placeholder:"HOST:PORT" help:"The gateway's admin listener, to be asked whether it is ready."`
	Probes       int           `default:"10" help:"How often each latency is measured."`
	StepTimeout  time.Duration `default:"10s" help:"Longest that one step may take."`
	Timeout      time.Duration `default:"60s" help:"Longest that all may take together."`
	JSON         bool          `name:"json" help:"Print one JSON object at the end instead of lines."`
}

func newParser(into *arguments, more ...kong.Option) (*kong.Kong, error) {
	return kong.New(into, append([]kong.Option{
		kong.Name(config.Program + " doctor"),
		kong.Description("Takes the steps of a Kafka client against a gateway, or any Kafka broker, one after the other, and says what came of each and what " +
			"to do. Exits with 0 if a client works here, else with 1."),
	}, more...)...)
}

// Model is the command line, for what is made of it.
func Model() (*kong.Application, error) {
	parser, err := newParser(&arguments{})
	if err != nil {
		return nil, err
	}
	return parser.Model, nil
}

// Usage is the error of arguments that are wrong.
type Usage struct{ Err error }

func (e *Usage) Error() string { return "doctor: " + e.Err.Error() }
func (e *Usage) Unwrap() error { return e.Err }

// Command does what the arguments say and prints the report. version is the program's. The error is a *Usage, or says why the
// report could not be printed.
func Command(ctx context.Context, args, environ []string, version string, stdout io.Writer) (healthy bool, err error) {
	var (
		line   arguments
		usage  bytes.Buffer
		helped bool
	)
	parser, err := newParser(&line, kong.Writers(&usage, &usage), kong.Exit(func(int) { helped = true }))
	if err != nil {
		return false, err
	}
	_, err = parser.Parse(args)
	if helped {
		_, err = usage.WriteTo(stdout)
		return true, err
	}
	if err != nil {
		return false, &Usage{errors.New(config.Explain(err, config.Program+" doctor"))}
	}
	o, err := line.options(environ)
	if err != nil {
		return false, &Usage{err}
	}
	o.Version = version
	var printing error
	report := Run(ctx, o, func(s Step) {
		if !line.JSON {
			printing = errors.Join(printing, s.WriteText(stdout))
		}
	})
	if line.JSON {
		printing = report.WriteJSON(stdout)
	} else {
		_, err := fmt.Fprintln(stdout, "\n"+report.Summary())
		printing = errors.Join(printing, err)
	}
	return report.Healthy, printing
}

// options are what is to be done. An error is a mistake in the arguments; one in the settings is part of the report.
func (a *arguments) options(environ []string) (Options, error) {
	o := Options{Topic: a.Topic, Probes: a.Probes, StepTimeout: a.StepTimeout, Timeout: a.Timeout}
	if a.Probes < 1 || a.Probes > 10_000 || a.StepTimeout <= 0 || a.Timeout <= 0 {
		return o, errors.New("--probes must be 1 to 10000, and the timeouts above 0")
	}
	o.Target = Target{Address: a.Address, Admin: a.Admin, User: a.User, Origin: "as the arguments say"}
	if a.Address == "" {
		if o.Target, o.Fault = settled(environ); o.Fault != nil {
			return o, nil
		}
		a.override(&o.Target)
	} else if err := checkAddress(a.Address); err != nil {
		return o, err
	}
	if a.Admin != "" {
		if err := checkAddress(a.Admin); err != nil {
			return o, fmt.Errorf("--admin: %w", err)
		}
	}
	if err := a.secure(&o.Target); err != nil {
		return o, err
	}
	return o, a.password(&o.Target, environ)
}

// settled is the target that the gateway's own settings make.
func settled(environ []string) (Target, error) {
	cfg, err := config.Load([]string{string(config.Check)}, environ)
	if err != nil {
		return Target{}, err
	}
	t := Target{Address: config.Local(cfg.BindAddr), Origin: "as the settings in the environment say"}
	if cfg.AdminAddr != "" {
		t.Admin = config.Local(cfg.AdminAddr)
	}
	if !cfg.PlainListener() {
		// By the name that clients are told, which the certificate has to have.
		t.Address = net.JoinHostPort(cfg.AdvertisedHost, strconv.Itoa(int(cfg.AdvertisedPort)))
		t.TLS = &tls.Config{MinVersion: tls.VersionTLS12}
	}
	if cfg.SASLEnabled {
		t.User, t.Password, t.Own = cfg.IggyUsername, cfg.IggyPassword, true
	}
	return t, checkAddress(t.Address)
}

// override puts what was said in the arguments above the settings.
func (a *arguments) override(t *Target) {
	if a.Admin != "" {
		t.Admin = a.Admin
	}
	if a.User != "" {
		t.User, t.Password, t.Own = a.User, "", false
	}
}

func (a *arguments) secure(t *Target) error {
	if a.TLS && t.TLS == nil {
		t.TLS = &tls.Config{MinVersion: tls.VersionTLS12}
	}
	if t.TLS == nil {
		if a.TLSCAFile+a.TLSCertFile+a.TLSKeyFile != "" {
			return errors.New("--tls-ca-file, --tls-cert-file and --tls-key-file say nothing without --tls")
		}
		return nil
	}
	if a.TLSCAFile != "" {
		pem, err := os.ReadFile(a.TLSCAFile)
		if err != nil {
			return fmt.Errorf("--tls-ca-file: %w", err)
		}
		t.TLS.RootCAs = x509.NewCertPool()
		if !t.TLS.RootCAs.AppendCertsFromPEM(pem) {
			return fmt.Errorf("--tls-ca-file: no certificate in %s", a.TLSCAFile)
		}
	}
	if a.TLSCertFile+a.TLSKeyFile != "" {
		pair, err := tls.LoadX509KeyPair(a.TLSCertFile, a.TLSKeyFile)
		if err != nil {
			return fmt.Errorf("--tls-cert-file and --tls-key-file: %w", err)
		}
		t.TLS.Certificates = []tls.Certificate{pair}
	}
	return nil
}

// password finds the password of a user that has none yet.
func (a *arguments) password(t *Target, environ []string) error {
	if t.User == "" || t.Password != "" {
		return nil
	}
	if a.PasswordFile != "" {
		text, err := os.ReadFile(a.PasswordFile)
		if err != nil {
			return fmt.Errorf("--password-file: %w", err)
		}
		t.Password = config.Secret(strings.TrimRight(string(text), "\r\n"))
	} else {
		for _, entry := range environ {
			if value, found := strings.CutPrefix(entry, passwordVariable+"="); found {
				t.Password = config.Secret(value)
			}
		}
	}
	if t.Password == "" {
		return fmt.Errorf("the user %q has no password: set %s or give --password-file", t.User, passwordVariable)
	}
	return nil
}

func checkAddress(text string) error {
	host, port, err := net.SplitHostPort(text)
	if err != nil || host == "" {
		return fmt.Errorf("%q is not HOST:PORT", text)
	}
	if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
		return fmt.Errorf("%q: the port is not a number from 1 to 65535", text)
	}
	return nil
}

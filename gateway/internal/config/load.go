// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package config

import (
	"bytes"
	"errors"
	"io"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/alecthomas/kong"
)

// Load reads the arguments (without the program's name) and the environment (as NAME=value). The error is [Faults], or
// [*Help] when the arguments ask for it.
func Load(args, environ []string) (Config, error) {
	l := loader{env: variables(environ)}
	return l.load(args)
}

// loader gathers what one call of Load finds.
type loader struct {
	env    map[string]string // the variables of ours, by name without the prefix
	faults Faults
}

// commandLine is what the arguments are parsed into.
type commandLine struct {
	Config

	Serve       struct{} `cmd:"" default:"1" help:"Run the gateway (what happens without a command)."`
	Check       struct{} `cmd:"" help:"Check the settings and exit."`
	PrintConfig struct{} `cmd:"" help:"Print the effective settings, secrets masked."`
	Version     struct{} `cmd:"" help:"Print the version."`
}

func (l *loader) load(args []string) (Config, error) {
	var (
		line   commandLine
		usage  bytes.Buffer
		helped bool
	)
	parser, err := kong.New(&line,
		kong.Name("iggy-kafka-gateway"),
		kong.Description("Serves Kafka clients from Apache Iggy. Each flag is also a variable: --bind-addr is "+Prefix+"BIND_ADDR."),
		kong.Writers(&usage, &usage),
		kong.Exit(func(int) { helped = true }),
		kong.ConfigureHelp(kong.HelpOptions{NoExpandSubcommands: true}),
		kong.Resolvers(kong.ResolverFunc(l.resolve)),
		decoders(&l.faults),
	)
	if err != nil {
		return Config{}, err
	}

	ctx, err := parser.Parse(args)
	if helped {
		return Config{}, &Help{Text: usage.String()}
	}
	if err != nil {
		l.faults = append(l.faults, Fault{Reason: err.Error()})
		// The variables are read all the same: whoever repairs the arguments should not meet a second list.
		if ctx, err = parser.Parse(nil); err != nil {
			return Config{}, err
		}
	}
	if Command(ctx.Command()) == Version && len(l.faults) == 0 {
		return Config{Command: Version}, nil // whatever the environment: it is no start
	}
	l.refuseUnknown(parser)

	given := map[string]bool{}
	for _, step := range ctx.Path {
		if step.Flag != nil {
			given[step.Flag.Name] = true
		}
	}
	cfg := line.Config
	cfg.Command = Command(ctx.Command())
	cfg.InstanceIDSet = given["instance-id"]
	l.faults = append(l.faults, complete(&cfg, given, l.faults)...)
	if len(l.faults) > 0 {
		return Config{}, l.faults
	}
	return cfg, nil
}

// resolve finds a flag's value in the environment; nil is none.
func (l *loader) resolve(_ *kong.Context, _ *kong.Path, flag *kong.Flag) (any, error) {
	if value, ok := l.env[strings.TrimPrefix(variable(flag.Name), Prefix)]; ok {
		return value, nil
	}
	return nil, nil
}

// refuseUnknown reports the variables that carry our prefix but are no setting: a typo must not silently mean the default.
func (l *loader) refuseUnknown(parser *kong.Kong) {
	known := map[string]bool{}
	for _, flag := range parser.Model.Flags {
		known[variable(flag.Name)] = true
	}
	later := notServed()
	for _, name := range slices.Sorted(maps.Keys(l.env)) {
		value := l.env[name]
		switch {
		case known[Prefix+name]:
		case slices.Contains(later, name):
			l.faults = append(l.faults, Fault{Prefix + name, value, "this release does not serve the setting yet; remove it"})
		case !fromKubernetes(name, value):
			l.faults = append(l.faults, Fault{Prefix + name, value, "no such setting"})
		}
	}
}

// variable returns the environment variable of a flag.
func variable(flag string) string {
	return Prefix + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}

// variables picks ours from the environment.
func variables(environ []string) map[string]string {
	env := map[string]string{}
	for _, entry := range environ {
		name, value, _ := strings.Cut(entry, "=")
		if name, ours := strings.CutPrefix(name, Prefix); ours {
			env[name] = value
		}
	}
	return env
}

// serviceVariable matches the variables that Kubernetes sets in every pod for a Service, here one whose name begins with
// iggy-kafka: NAME_SERVICE_HOST, NAME_SERVICE_PORT, NAME_SERVICE_PORT_PORTNAME, NAME_PORT_9093_TCP and its parts.
var serviceVariable = regexp.MustCompile(`(^|_)(SERVICE_HOST|SERVICE_PORT(_.+)?|PORT_[0-9]+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?)$`)

// fromKubernetes also knows NAME_PORT, which Kubernetes fills with a URL: a number there is a setting misspelt.
func fromKubernetes(name, value string) bool {
	if name == "PORT" || strings.HasSuffix(name, "_PORT") && !strings.HasSuffix(name, "_SERVICE_PORT") && !serviceVariable.MatchString(name) {
		return strings.Contains(value, "://")
	}
	return serviceVariable.MatchString(name)
}

// Print writes every setting as the variable that gives it, one a line, secrets masked.
func (c Config) Print(w io.Writer) error {
	line := commandLine{Config: c}
	parser, err := kong.New(&line, kong.Name("iggy-kafka-gateway"), decoders(new(Faults)))
	if err != nil {
		return err
	}
	var errs []error
	for _, flag := range parser.Model.Flags {
		if flag.Name == "help" {
			continue
		}
		_, err := io.WriteString(w, variable(flag.Name)+"="+format(flag.Value)+"\n")
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

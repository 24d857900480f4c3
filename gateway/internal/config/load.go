// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package config

import (
	"bytes"
	"cmp"
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
		// The variables are read all the same: whoever repairs the arguments should not meet a second list. But they are
		// not held against each other: what one of them lacks may be in the arguments.
		if _, err = parser.Parse(nil); err != nil {
			return Config{}, err
		}
		l.refuseUnknown(parser)
		return Config{}, l.faults
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

// refuseUnknown reports the variables that carry our prefix but are no setting: a typo must not silently mean the
// default. Their values are not shown, as they may be secrets: the misspelt name of the password has the password.
func (l *loader) refuseUnknown(parser *kong.Kong) {
	var known []string
	for _, flag := range parser.Model.Flags {
		known = append(known, variable(flag.Name))
	}
	for _, name := range slices.Sorted(maps.Keys(l.env)) {
		full := Prefix + name
		switch {
		case slices.Contains(known, full), fromKubernetes(name, l.env[name]):
		default:
			l.faults = append(l.faults, Fault{full, mask, "no such setting" + suggestion(full, known)})
		}
	}
}

// suggestion names the known variable that is at most two typing errors away, if there is one.
func suggestion(name string, known []string) string {
	nearest := slices.MinFunc(known, func(a, b string) int { return cmp.Compare(distance(name, a), distance(name, b)) })
	if distance(name, nearest) > 2 {
		return ""
	}
	return ", did you mean " + nearest + "?"
}

// distance is Levenshtein's: how many bytes must be put in, taken out or replaced to make a into b.
func distance(a, b string) int {
	row := make([]int, len(b)+1) // row[j] is the distance of a's part so far to b[:j]
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			replaced := diagonal
			if a[i] != b[j] {
				replaced++
			}
			diagonal = row[j+1]
			row[j+1] = min(replaced, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
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

// Print writes every setting in effect as the variable that gives it, one a line, secrets masked. What it writes is a
// valid environment.
func (c Config) Print(w io.Writer) error {
	line := commandLine{Config: c}
	parser, err := kong.New(&line, kong.Name("iggy-kafka-gateway"), decoders(new(Faults)))
	if err != nil {
		return err
	}
	var errs []error
	for _, flag := range parser.Model.Flags {
		if flag.Name == "help" || flag.Name == "iggy-addr" && c.Embedded {
			continue
		}
		_, err := io.WriteString(w, variable(flag.Name)+"="+format(flag.Value)+"\n")
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

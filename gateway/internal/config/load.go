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
	if len(args) == 1 { // what other programs understand, too
		switch args[0] {
		case "--version":
			args = []string{string(Version)}
		case "help":
			args = []string{"--help"}
		}
	}
	return l.load(args)
}

// missingValue is what the parser says of a flag at the end that needs a value.
var missingValue = regexp.MustCompile(`expected \S+ value( value)?( but got "EOL" \(<EOL>\))?$`)

// Explain puts what is wrong with the arguments of a command line into words.
func Explain(err error, help string) string {
	return missingValue.ReplaceAllString(err.Error(), "needs a value") + "; " + help + " --help lists commands and flags"
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
	Version     struct{} `cmd:"" help:"Print the version, the commit and the platform."`
	Doctor      struct {
		Arguments []string `arg:"" optional:"" passthrough:"" help:"Its own flags; doctor --help lists them."`
	} `cmd:"" passthrough:"" help:"Find out what keeps a Kafka client from working, from where it is."`
	Completion struct {
		Shell string `arg:"" enum:"bash,zsh,fish" help:"bash, zsh or fish."`
	} `cmd:"" help:"Print what makes a shell complete commands and flags."`
	HealthCheck struct{} `cmd:"" name:"healthcheck" help:"Ask the gateway that runs with these settings whether it has come up and lives; for containers."`
}

// arguments are those of the command that was named.
func (c *commandLine) arguments() []string {
	if c.Completion.Shell != "" {
		return []string{c.Completion.Shell}
	}
	return c.Doctor.Arguments
}

// newParser reads what is asked of it into line.
func newParser(line *commandLine, more ...kong.Option) (*kong.Kong, error) {
	return kong.New(line, append([]kong.Option{
		kong.Name(Program),
		kong.Description("Serves Kafka clients from Apache Iggy. Each flag is also a variable: --bind-addr is " + Prefix + "BIND_ADDR."),
		kong.ConfigureHelp(kong.HelpOptions{NoExpandSubcommands: true}),
	}, more...)...)
}

// Model is the command line that Load reads: for what is made of it.
func Model() (*kong.Application, error) {
	parser, err := newParser(&commandLine{}, decoders(new(Faults)))
	if err != nil {
		return nil, err
	}
	return parser.Model, nil
}

func (l *loader) load(args []string) (Config, error) {
	var (
		line   commandLine
		usage  bytes.Buffer
		helped bool
	)
	parser, err := newParser(&line,
		kong.Writers(&usage, &usage),
		kong.Exit(func(int) { helped = true }),
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
		l.faults = append(l.faults, Fault{Reason: Explain(err, Program)})
		// The variables are read all the same: whoever repairs the arguments should not meet a second list. But they are
		// not held against each other: what one of them lacks may be in the arguments.
		if _, err = parser.Parse(nil); err != nil {
			return Config{}, err
		}
		l.refuseUnknown(parser)
		return Config{}, l.faults
	}
	name, _, _ := strings.Cut(ctx.Command(), " ") // behind it are names of arguments
	command := Command(name)
	switch {
	case command.hasSettings():
	case len(l.env) > 0:
		return (&loader{}).load(args)
	case len(l.faults) > 0:
		return Config{}, l.faults
	default:
		return Config{Command: command, Arguments: line.arguments()}, nil
	}
	if command == HealthCheck {
		return l.adminAlone(line.AdminAddr)
	}
	l.refuseUnknown(parser)

	given := map[string]bool{}
	for _, step := range ctx.Path {
		if step.Flag != nil {
			given[step.Flag.Name] = true
		}
	}
	cfg := line.Config
	cfg.Command = command
	cfg.InstanceIDSet = given["instance-id"]
	l.faults = append(l.faults, complete(&cfg, given, l.faults)...)
	if len(l.faults) > 0 {
		return Config{}, l.faults
	}
	return cfg, nil
}

// adminAlone is the configuration of HealthCheck: the other settings, and what is wrong with them, are the business of the gateway
// that it asks, which may have been given them as flags.
func (l *loader) adminAlone(addr string) (Config, error) {
	own := slices.DeleteFunc(l.faults, func(f Fault) bool { return f.Variable != variable("admin-addr") })
	if addr == "" {
		own = append(own, Fault{variable("admin-addr"), addr, "there is no admin listener to ask"})
	}
	if len(own) > 0 {
		return Config{}, own
	}
	return Config{Command: HealthCheck, AdminAddr: addr}, nil
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
	var known []string
	for _, flag := range parser.Model.Flags {
		known = append(known, variable(flag.Name))
	}
	for _, name := range slices.Sorted(maps.Keys(l.env)) {
		full := Prefix + name
		if slices.Contains(known, full) || fromKubernetes(name, l.env[name]) {
			continue
		}
		shown := l.env[name]
		if mayBeSecret(name) {
			shown = mask
		}
		l.faults = append(l.faults, Fault{full, shown, "no such setting" + suggestion(full, known)})
	}
}

// secretName matches the names that a secret may stand under, however they are misspelt: the letters of PASSWORD in their order,
// and the words for other secrets.
var secretName = regexp.MustCompile(`P.*W.*D|PASS|PW|SECRET|TOKEN|KEY|CRED|AUTH|LOGIN`)

// mayBeSecret tells whether the value of a setting that nobody knows may be a secret, by the setting's name.
func mayBeSecret(name string) bool { return secretName.MatchString(strings.ToUpper(name)) }

// suggestion names the known variable that is nearest, if it is no further away than a quarter of the name and one typing error more.
func suggestion(name string, known []string) string {
	nearest := slices.MinFunc(known, func(a, b string) int { return cmp.Compare(distance(name, a), distance(name, b)) })
	if distance(name, nearest) > (len(name)-len(Prefix))/4+1 {
		return "; iggy-kafka-gateway --help lists them"
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
	parser, err := newParser(&line, decoders(new(Faults)))
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

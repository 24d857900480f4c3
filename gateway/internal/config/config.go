// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

// Package config reads the gateway's settings: one typed struct, filled from environment variables and flags, checked as a whole.
//
// Every setting is a field of [Config]. Its flag is the field's name in kebab case (or its name tag), its variable the
// same in upper case behind the prefix IGGY_KAFKA_; a flag wins over the variable. [Load] reads nothing but its
// arguments and the files that they name: the password, the topic map.
package config

import (
	"log/slog"
	"time"

	"github.com/iggy-kafka/iggy-kafka/bridge"
	"github.com/iggy-kafka/iggy-kafka/gateway/internal/buildinfo"
)

// Prefix begins the name of every environment variable that the gateway reads.
const Prefix = "IGGY_KAFKA_"

// Program is the name of the program that has these settings.
const Program = "iggy-kafka-gateway"

// Command is what the gateway was asked to do.
type Command string

// The commands. Serve is the one that runs when none is named.
const (
	Serve       Command = "serve"
	Check       Command = "check"
	PrintConfig Command = "print-config"
	Version     Command = "version"
	Doctor      Command = "doctor"
	Completion  Command = "completion"
	HealthCheck Command = "healthcheck"
)

// hasSettings tells whether a command is about the settings; the others have none, whatever is in the environment.
func (c Command) hasSettings() bool {
	switch c {
	case Version, Doctor, Completion:
		return false
	}
	return true
}

// The stores that the embedded server can keep its data in.
const (
	StoreDurable = "durable"
	StoreMemory  = "memory"
)

// TransactionTopic is Kafka's own topic that is internal beside the state topic.
const TransactionTopic = "__transaction_state"

// The forms that log lines come in.
const (
	LogText = "text"
	LogJSON = "json"
)

// Config holds every setting that this release serves. Sizes are bytes.
//
// Tags: range bounds a number (both ends included, the upper one may be left out), oneof lists the words that are
// allowed, unit says what a duration is counted in, rule names a check of values.go.
type Config struct {
	Command Command `kong:"-"`
	// Arguments are those of a command that has no settings.
	Arguments []string `kong:"-"`
	// Build is the program, as whoever loads the settings knows it.
	Build buildinfo.Info `kong:"-"`

	BindAddr       string `default:"127.0.0.1:9093" rule:"address" group:"Listener" help:"Host and port that Kafka clients connect to."`
	AdvertisedHost string `group:"Listener" help:"Host that clients are told to connect to; the host of --bind-addr if empty."`
	AdvertisedPort int32  `default:"0" range:"0-65535" group:"Listener" help:"Port that clients are told to connect to; 0 is the port that was bound."`
	InstanceID     int32  `default:"0" range:"0-65535" group:"Listener" help:"Node id of this gateway, and the high bits of the producer ids that it gives out."`

	TLSCertFile       string `name:"tls-cert-file" group:"TLS" help:"PEM file of the certificate that Kafka clients are shown, and of those that lead to its authority. It is read again when it or one of the other files changes, and at SIGHUP. With it --bind-addr speaks TLS, unless --tls-bind-addr does."`
	TLSKeyFile        string `name:"tls-key-file" group:"TLS" help:"PEM file of its private key."`
	TLSClientCAFile   string `name:"tls-client-ca-file" group:"TLS" help:"PEM file of the authorities whose certificates clients must show; empty: clients need none."`
	TLSBindAddr       string `name:"tls-bind-addr" rule:"address-or-none" group:"TLS" help:"Host and port of a second listener, for TLS; --bind-addr stays without."`
	TLSAdvertisedHost string `name:"tls-advertised-host" group:"TLS" help:"Host that clients of --tls-bind-addr are told to connect to; its own host if empty."`
	TLSAdvertisedPort int32  `name:"tls-advertised-port" default:"0" range:"0-65535" group:"TLS" help:"Port that they are told to connect to; 0 is the port that was bound."`

	SASLEnabled                  bool          `name:"sasl-enabled" default:"false" group:"SASL" help:"Clients authenticate by SASL/PLAIN as users of Iggy, and may do what these may; otherwise everybody may do what the gateway's own user may."`
	PreAuthTimeout               time.Duration `name:"pre-auth-timeout-secs" default:"15" range:"1-3600" unit:"s" group:"SASL" help:"How long a connection may have no request begun and none unanswered before it has authenticated. A login may wait as long for its turn, and Iggy's answer as long again."`
	MaxConcurrentAuthentications int           `default:"4" range:"1-1024" group:"SASL" help:"Logins that Iggy is asked about at a time. Each costs it one check of a password, about 45 ms of a processor; after a restart all clients log in at once, at the rate that this allows."`
	SASLSessionLifetime          time.Duration `name:"sasl-session-lifetime-secs" default:"0" range:"0-31536000" unit:"s" group:"SASL" help:"When clients must have authenticated again, on the same connection; 0: never."`
	SASLRejectionDelay           time.Duration `name:"sasl-rejection-delay-ms" default:"250" range:"0-10000" unit:"ms" group:"SASL" help:"When after its login a client is told that it is refused, so that the time does not tell why."`

	MaxConnections      int   `default:"1024" range:"1-1000000" group:"Limits" help:"Client connections at a time; more are closed at once."`
	MaxFrameSize        int32 `default:"104857600" range:"1024-2147483647" group:"Limits" help:"Largest request of the APIs that may be large."`
	MaxDecompressedSize int64 `default:"33554432" range:"65536-2147483647" group:"Limits" help:"One partition's records in one Produce request, decompressed."`
	FrameBudget         int64 `default:"268435456" range:"1048576-" group:"Limits" help:"All requests being read, together."`
	DecodeBudget        int64 `default:"167772160" range:"1048576-" group:"Limits" help:"All requests being decoded, together; Fetch requests under way hold up to four fifths as much besides."`
	ResponseBudget      int64 `default:"134217728" range:"1048576-" group:"Limits" help:"All answers being built, together."`
	MaxResponseSize     int64 `default:"67108864" range:"65536-2147483647" group:"Limits" help:"Largest answer."`
	FetchMaxBytes       int64 `default:"57671680" range:"1024-2147483647" group:"Limits" help:"Most record bytes in one Fetch answer."`

	FetchWaitMax         time.Duration `name:"fetch-wait-max-ms" default:"18000" range:"1-3600000" unit:"ms" group:"Timeouts" help:"Longest wait of a Fetch for data, whatever the client asks."`
	ProduceTimeoutMax    time.Duration `name:"produce-timeout-max-ms" default:"20000" range:"1-3600000" unit:"ms" group:"Timeouts" help:"Longest wait of a Produce for Iggy, whatever the client asks."`
	IdleTimeout          time.Duration `name:"idle-timeout-secs" default:"600" range:"1-86400" unit:"s" group:"Timeouts" help:"How long a connection may have no request begun and none unanswered."`
	ReadTimeout          time.Duration `name:"read-timeout-secs" default:"15" range:"1-3600" unit:"s" group:"Timeouts" help:"How long the body of one request may take to arrive."`
	WriteTimeout         time.Duration `name:"write-timeout-secs" default:"10" range:"1-3600" unit:"s" group:"Timeouts" help:"How long a client may take to read one answer."`
	ShutdownDrainTimeout time.Duration `name:"shutdown-drain-timeout-secs" default:"25" range:"0-3600" unit:"s" group:"Timeouts" help:"How long requests in flight may take after SIGTERM."`

	AutoCreateTopics  bool   `default:"false" group:"Topics" help:"Metadata requests create the topics that they name; true by default with --embedded."`
	DefaultPartitions int32  `default:"1" range:"1-1000" group:"Topics" help:"Partitions of a topic that is created without a number of them."`
	FetchCompression  string `default:"none" oneof:"none,gzip,snappy,lz4,zstd" group:"Topics" help:"Compression of the batches that consumers are sent."`
	TopicMapPath      string `group:"Topics" help:"TOML file that gives Kafka topics other Iggy streams and topics."`

	ProducerIDExpiration time.Duration `name:"producer-id-expiration-secs" default:"86400" range:"1-31536000" unit:"s" group:"Writing" help:"When an idempotent producer that does not write to a partition any more is forgotten there."`
	MaxProducers         int           `default:"100000" range:"1-10000000" group:"Writing" help:"Idempotent producers that are remembered, counted for each partition they write to; beyond it the one that wrote the longest ago is forgotten."`
	DedupTailAge         time.Duration `name:"dedup-tail-age-secs" default:"120" range:"1-86400" unit:"s" group:"Writing" help:"After a restart, batches that producers send again are found among the last messages of a partition: those at most that much older than the newest. No less than the delivery timeout of the producers."`
	DedupTailMin         int           `name:"dedup-tail-min-messages" default:"5000" range:"1-100000000" group:"Writing" help:"At least so many messages are searched, whatever their age."`
	DedupTailMax         int           `name:"dedup-tail-max-messages" default:"1000000" range:"1-100000000" group:"Writing" help:"At most so many."`
	DedupTailBytes       int64         `name:"dedup-tail-max-bytes" default:"1073741824" range:"1048576-" group:"Writing" help:"And at most so many bytes of them, as far as their average size tells."`
	ExclusiveTopics      string        `rule:"topic-patterns" group:"Writing" help:"Topics that nobody but this gateway writes to, by name, between commas; one that ends in * stands for all that begin so. What is written there is not looked for afterwards, which is faster; should another write to them all the same, producers are told wrong offsets."`

	GroupMinSessionTimeout     time.Duration `name:"group-min-session-timeout-ms" default:"6000" range:"1-2147483647" unit:"ms" group:"Consumer groups" help:"Shortest session timeout that a member may ask for."`
	GroupMaxSessionTimeout     time.Duration `name:"group-max-session-timeout-ms" default:"1800000" range:"1-2147483647" unit:"ms" group:"Consumer groups" help:"Longest one."`
	GroupInitialRebalanceDelay time.Duration `name:"group-initial-rebalance-delay-ms" default:"3000" range:"0-2147483647" unit:"ms" group:"Consumer groups" help:"How long the first rebalance of an empty group waits for more members."`
	GroupMaxSize               int           `default:"1000" range:"1-1000000" group:"Consumer groups" help:"Members of one group."`
	GroupMaxGroups             int           `default:"10000" range:"1-10000000" group:"Consumer groups" help:"Groups."`
	GroupMaxMembers            int           `default:"50000" range:"1-10000000" group:"Consumer groups" help:"Members of all groups together."`
	OffsetsRetention           time.Duration `name:"offsets-retention-minutes" default:"10080" range:"1-52560000" unit:"minutes" group:"Consumer groups" help:"How long offsets are kept after their group has become empty."`
	NativeOffsetMirror         bool          `default:"false" group:"Consumer groups" help:"Copy committed offsets to native Iggy consumer groups, named kafka.cg. and the group's id."`
	StateTopic                 string        `default:"__iggy_kafka_state" rule:"topic" group:"Consumer groups" help:"Topic that holds the gateway's own state: groups, offsets, producer ids, topic settings."`
	StatePartitions            int32         `default:"4" range:"1-1000" group:"Consumer groups" help:"Its partitions, when the gateway creates it."`
	StateExpiry                time.Duration `name:"state-expiry-days" default:"90" range:"3-36500" unit:"days" group:"Consumer groups" help:"When old state is deleted, when the gateway creates the topic; newer state never needs it."`

	Embedded      bool   `default:"false" group:"Embedded Iggy" help:"Run an Iggy server inside this process; no other one is needed."`
	EmbeddedStore string `default:"durable" oneof:"durable,memory" group:"Embedded Iggy" help:"Where the embedded server keeps its data: in --data-dir or in memory only."`
	DataDir       string `default:"./iggy-kafka-data" rule:"required" group:"Embedded Iggy" help:"Folder of the embedded server's data."`
	EmbeddedFsync bool   `default:"true" group:"Embedded Iggy" help:"Acknowledge a write only once it is on disk."`
	EmbeddedAddr  string `default:"127.0.0.1:0" rule:"address" group:"Embedded Iggy" help:"Host and port where native Iggy clients reach the embedded server; port 0 is any free one."`

	BridgeEnabled      bool          `default:"true" group:"Iggy" help:"Connect to Iggy; without it the gateway answers, but stores nothing."`
	IggyAddr           string        `default:"127.0.0.1:8090" rule:"address" group:"Iggy" help:"Host and port of the Iggy server (TCP)."`
	IggyUsername       string        `default:"iggy" rule:"required" group:"Iggy" help:"The gateway's own Iggy user."`
	IggyPassword       Secret        `group:"Iggy" help:"Its password; required but with --embedded, where it is iggy by default."`
	IggyPasswordFile   string        `group:"Iggy" help:"File that holds the password, instead of --iggy-password."`
	IggyTLSEnabled     bool          `default:"false" group:"Iggy" help:"Use TLS for every connection to Iggy."`
	IggyTLSDomain      string        `group:"Iggy" help:"Name that the Iggy server's certificate must carry; the host of --iggy-addr if empty."`
	IggyTLSCAFile      string        `name:"iggy-tls-ca-file" group:"Iggy" help:"PEM file of the authorities that may have signed it; the system's if empty."`
	IggyStream         string        `default:"kafka" rule:"iggy-name" group:"Iggy" help:"Stream that holds the topics that the topic map does not name."`
	IggyMaxMessageSize int           `default:"67108864" range:"1024-2147483647" group:"Iggy" help:"Largest message that Iggy is sent; larger records are refused."`
	ProduceSessions    int           `default:"256" range:"0-65536" group:"Iggy" help:"Most connections to Iggy that carry writes, of all users together; who finds none free waits for one. 0 is one for all, where clients do not authenticate."`
	ProduceSessionIdle time.Duration `name:"produce-session-idle-secs" default:"600" range:"1-86400" unit:"s" group:"Iggy" help:"When such a connection is closed for lack of use."`

	AdminAddr  string `default:"127.0.0.1:9094" rule:"address-or-none" group:"Admin" help:"Host and port of the status page, of /metrics for Prometheus, and of /healthz and /readyz, over HTTP; empty: nowhere."`
	AdminPprof bool   `default:"false" group:"Admin" help:"Answer /debug/pprof/ there as well: profiles of the gateway, its memory and goroutines."`

	LogLevel  slog.Level `default:"info" oneof:"debug,info,warn,error" group:"Log" help:"Least level of the lines that are logged: debug, info, warn or error."`
	LogFormat string     `default:"text" oneof:"text,json" group:"Log" help:"Form of the log lines."`

	// Names says where each topic lives, by the topic map or else by IggyStream.
	Names *bridge.Names `kong:"-"`
	// Exclusive is what ExclusiveTopics says.
	Exclusive TopicPatterns `kong:"-"`
	// InstanceIDSet says whether InstanceID was given; several gateways that leave it at its default would give out
	// the same producer ids.
	InstanceIDSet bool `kong:"-"`
}

// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package api

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggy-kafka/iggy-kafka/bridge"
	"github.com/iggy-kafka/iggy-kafka/coordinator"
	"github.com/iggy-kafka/iggy-kafka/gateway/internal/budget"
	"github.com/iggy-kafka/iggy-kafka/gateway/internal/fetchsession"
	"github.com/iggy-kafka/iggy-kafka/gateway/internal/lograte"
	"github.com/iggy-kafka/iggy-kafka/gateway/internal/permissions"
	"github.com/iggy-kafka/iggy-kafka/gateway/internal/producers"
	"github.com/iggy-kafka/iggy-kafka/gateway/internal/quotas"
	"github.com/iggy-kafka/iggy-kafka/gateway/internal/sasl"
	"github.com/iggy-kafka/iggy-kafka/gateway/internal/server"
	"github.com/iggy-kafka/iggy-kafka/gateway/internal/topicconfig"
	"github.com/iggy-kafka/iggy-kafka/recordcodec"
	"github.com/iggy-kafka/iggy-kafka/wire"
)

// Config is what the answers depend on besides Iggy. Sizes are bytes.
type Config struct {
	NodeID    int32
	ClusterID string
	// InternalTopics are readable for clients and otherwise none of their business.
	InternalTopics []string

	AutoCreateTopics  bool
	DefaultPartitions int32

	FetchCompression  recordcodec.Codec
	FetchMaxBytes     int
	FetchWaitMax      time.Duration
	ProduceTimeoutMax time.Duration
	// PartitionCap is the partition cap: one partition's records in one Produce request, decompressed.
	PartitionCap int
	// MaxMessageSize is the largest payload that one Iggy message may have.
	MaxMessageSize  int
	MaxResponseSize int
	// WriteTimeout bounds the wait for the response budget.
	WriteTimeout time.Duration
	// Settings are the gateway's own, for tools to read.
	Settings []topicconfig.Setting
}

// Deps is what the handlers work with.
type Deps struct {
	Table  *wire.Table
	Bridge *bridge.Bridge // nil: answers that do without Iggy

	// Groups answers for consumer groups and their offsets.
	Groups *coordinator.Driver
	// Topics keeps what Iggy cannot say about topics; nil with Bridge.
	Topics TopicStore
	// Quotas keeps the quotas of clients.
	Quotas quotas.Store
	// ReserveIDs reserves producer ids.
	ReserveIDs producers.Reserve
	// Fenced is closed when another gateway has taken over the groups; nil: never.
	Fenced <-chan struct{}
	// Logins checks who clients are; nil: they do not authenticate.
	Logins *sasl.Gate
	// Mirror is told of every offset that was committed; nil: nobody is.
	Mirror Mirror
	// Stopping ends when the gateway is about to stop: nobody is made to wait for other clients any more.
	Stopping context.Context

	DecodeBudget   *budget.Budget
	ResponseBudget *budget.Budget

	Logger *slog.Logger
	Now    func() time.Time
	Rand   io.Reader
}

// TopicStore keeps settings of topics that Iggy has no place for, by topic id. The methods that change something return
// when that is durable, with errors of package coordinator; if ctx ends first the change may still come.
type TopicStore interface {
	// Loaded is closed when the settings are known.
	Loaded() <-chan struct{}
	// SettingsVersion is 0 until then, and afterwards another number whenever TopicSettings may answer something new.
	SettingsVersion() uint64
	TopicSettings(topicID string) (settings map[string]string, ok bool)
	SetTopicSettings(ctx context.Context, topicID, name string, settings map[string]string) error
	DropTopic(ctx context.Context, topicID string) error
}

// Mirror takes note of committed offsets. It must not wait.
type Mirror interface {
	Committed(group string, t *bridge.Topic, partition int32, offset int64)
}

// API answers Kafka requests; it is the server.Handler of the gateway.
type API struct {
	Config
	Deps

	handlers map[int16]handler
	decoder  *recordcodec.Decoder
	encoder  *recordcodec.Encoder
	configs  *topicconfig.Table
	ids      *producers.IDs
	fetching *budget.Budget
	sessions *fetchsession.Cache
	expiry   sessionExpiry
	buffers  bufferPool
	settings settingsCache
	defaults topicconfig.Effective
	// altering is held by who reads settings of topics, changes them and writes them back.
	altering chan struct{}
	// brokerSettings are those that DescribeConfigs tells of this gateway, by name.
	brokerSettings []topicconfig.Setting

	everything *permissions.Access
	quotas     *quotas.Quotas

	unmappable unmappableLog
	failures   lograte.Limit
	throttled  lograte.Limit
	wrongTimes lograte.Limit
	counts     counts
}

// leaderEpoch is the only epoch there is while one gateway leads every partition.
const leaderEpoch = 0

// handler begins one request, as server.Handler.Start does.
type handler func(ctx context.Context, conn *server.Conn, req *wire.Request) server.Pending

// New returns the handlers for every API that deps.Table serves.
func New(cfg Config, deps Deps) *API {
	a := &API{
		Config: cfg, Deps: deps,
		decoder: recordcodec.NewDecoder(),
		encoder: recordcodec.NewEncoder(),
		configs: topicconfig.NewTable(), defaults: topicconfig.Default(),
		altering:   make(chan struct{}, 1),
		ids:        producers.NewIDs(cfg.NodeID, deps.ReserveIDs),
		everything: permissions.Everything(),
		quotas:     quotas.New(deps.Quotas, deps.Logger),
	}
	a.brokerSettings = newBrokerSettings(&cfg, a.configs.All())
	a.fetching = newFetching(&deps)
	a.sessions = newFetchSessions(&deps, a.fetching)
	a.expiry.sessions = a.sessions
	a.handlers = a.table()
	if deps.Bridge == nil {
		a.detach()
	}
	return a
}

// Start begins one request.
func (a *API) Start(ctx context.Context, conn *server.Conn, req *wire.Request) server.Pending {
	h, ok := a.handlers[req.Header.Key]
	if !ok {
		return fails(errNoHandler)
	}
	if pending := a.guard(conn, req); pending != nil {
		return pending
	}
	if !unauthenticated(req.Header.Key) {
		if err := a.admit(ctx, conn); err != nil {
			return fails(err)
		}
	}
	return h(ctx, conn, req)
}

// replying makes a handler of a function that does all its work while it waits.
func replying[Req kmsg.Request](f func(context.Context, *server.Conn, Req) (server.Reply, error)) handler {
	return func(_ context.Context, conn *server.Conn, req *wire.Request) server.Pending {
		body, ok := req.Body.(Req)
		if !ok {
			return fails(errNoHandler)
		}
		return func(ctx context.Context) (server.Reply, error) { return f(ctx, conn, body) }
	}
}

// plain is replying for a function whose answer is small.
func plain[Req kmsg.Request](f func(context.Context, *server.Conn, Req) (kmsg.Response, error)) handler {
	return replying(func(ctx context.Context, conn *server.Conn, req Req) (server.Reply, error) {
		resp, err := f(ctx, conn, req)
		if err != nil {
			return server.Reply{}, err
		}
		return server.NewReply(resp), nil
	})
}

// reserve takes n bytes of the response budget before an answer of that size is built. It waits as long as a client may
// take to read one; the error closes the connection.
func (a *API) reserve(ctx context.Context, n int64) (release func(), err error) {
	ctx, cancel := context.WithTimeout(ctx, a.WriteTimeout)
	defer cancel()
	if err := a.ResponseBudget.Acquire(ctx, n); err != nil {
		return nil, fmt.Errorf("%w: %w", errBudget, err)
	}
	return func() { a.ResponseBudget.Release(n) }, nil
}

func fails(err error) server.Pending {
	return func(context.Context) (server.Reply, error) { return server.Reply{}, err }
}

func answers(reply server.Reply) server.Pending {
	return func(context.Context) (server.Reply, error) { return reply, nil }
}

// within bounds ctx by what a client asks (ms), at most limit; 0 and less ask for nothing and get the limit.
func within(ctx context.Context, askedMillis int32, limit time.Duration) (context.Context, context.CancelFunc) {
	d := time.Duration(askedMillis) * time.Millisecond
	if d <= 0 || d > limit {
		d = limit
	}
	return context.WithTimeout(ctx, d)
}

// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/iggy-kafka/iggy-kafka/bridge"
	"github.com/iggy-kafka/iggy-kafka/gateway/internal/admin"
	"github.com/iggy-kafka/iggy-kafka/gateway/internal/buildinfo"
	"github.com/iggy-kafka/iggy-kafka/gateway/internal/config"
	"github.com/iggy-kafka/iggy-kafka/gateway/internal/overview"
	"github.com/iggy-kafka/iggy-kafka/gateway/internal/sasl"
	"github.com/iggy-kafka/iggy-kafka/gateway/internal/server"
	"github.com/iggy-kafka/iggy-kafka/gateway/internal/state"
	"github.com/iggy-kafka/iggy-kafka/gateway/internal/statuspage"
)

// operators are those who operate the gateway: they are answered from the moment on at which the admin port is taken, and until then
// that they have to wait.
type operators struct {
	server *admin.Server // nil: there is no admin port
	addr   net.Addr
	doing  atomic.Pointer[string]
	login  *statuspage.Login // of the page, nil while there is none
	// stop ends what operators are served, once. It has to be called before what they are shown is closed.
	stop func() error
}

// admit takes the admin port, if there shall be one, and tells who asks there what the start is at: see step.
func admit(ctx context.Context, cfg config.Config, d *doors, log *slog.Logger) (*operators, error) {
	o := &operators{stop: func() error { return nil }}
	o.step("beginning")
	if cfg.AdminAddr == "" {
		return o, nil
	}
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", cfg.AdminAddr)
	if err != nil {
		return nil, listenMistake("IGGY_KAFKA_ADMIN_ADDR", cfg.AdminAddr, err)
	}
	parts := admin.Starting(func() string { return *o.doing.Load() }, ctx.Done())
	parts.Profiles, parts.Hosts = cfg.AdminPprof, operatorHosts(cfg, d)
	o.addr, o.server = l.Addr(), admin.Start(l, admin.NewHandler(parts), log)
	o.stop = sync.OnceValue(func() error {
		if o.login != nil {
			defer o.login.Close()
		}
		return o.server.Stop()
	})
	return o, nil
}

// step says what the start is at from now on, in words that anybody may read.
func (o *operators) step(doing string) { o.doing.Store(&doing) }

// operated is a gateway, to those who operate it.
type operated struct {
	cfg                 config.Config
	build               buildinfo.Info
	clusterID, iggyAddr string
	doors               *doors
	server              *server.Server
	seen                *overview.Source
	logins              *sasl.Gate // nil: nobody has to log in
	readiness           *admin.Readiness
	meters              http.Handler
	now                 func() time.Time
	log                 *slog.Logger
}

// show has operators be shown the gateway from now on. They have to be stopped before the logins' gate is closed.
func (o operated) show(to *operators) error {
	if to.server == nil {
		return nil
	}
	page, err := o.page()
	if err != nil {
		return err
	}
	if o.logins != nil {
		page.Login = statuspage.NewLogin(o.logins, o.log)
		to.login = page.Login
		if !config.LoopbackAddr(to.addr.String()) {
			o.log.Warn("passwords for the status page cross the network in the clear: put a proxy with TLS in front of IGGY_KAFKA_ADMIN_ADDR", "addr", o.cfg.AdminAddr)
		}
	}
	shown, err := statuspage.New(page)
	if err != nil {
		return err
	}
	to.server.Use(admin.NewHandler(admin.Parts{
		Readiness: o.readiness, Page: shown, Metrics: o.meters, Profiles: o.cfg.AdminPprof, Hosts: page.Hosts,
	}))
	o.log.Info("serving operators", "addr", to.addr.String())
	return nil
}

// page is what the status page shows.
func (o operated) page() (statuspage.Config, error) {
	settings, err := o.cfg.Settings()
	if err != nil {
		return statuspage.Config{}, fmt.Errorf("app: settings: %w", err)
	}
	about := statuspage.Gateway{Version: o.build.Version, Build: o.build.String(), NodeID: o.cfg.InstanceID, ClusterID: o.clusterID, Started: o.now()}
	if o.cfg.BridgeEnabled {
		about.Iggy, about.Stream = o.iggyAddr, o.cfg.IggyStream
		if o.cfg.Embedded {
			about.Iggy += ", embedded"
		}
	}
	for _, d := range o.doors.open {
		about.Listeners = append(about.Listeners, statuspage.Listener{
			Addr: d.Addr().String(), Advertised: net.JoinHostPort(d.AdvertisedHost, strconv.Itoa(int(d.AdvertisedPort))), TLS: d.tls,
		})
	}
	return statuspage.Config{
		Gateway: about, Settings: settings, APIs: newTable(o.cfg).APIs(), Snapshot: o.seen.Snapshot, Connections: o.server.Connections,
		Readiness: o.readiness.Ask, Now: o.now, Hosts: operatorHosts(o.cfg, o.doors),
	}, nil
}

// operatorHosts are the names by which operators may ask the gateway.
func operatorHosts(cfg config.Config, d *doors) []string {
	hosts := []string{hostOf(cfg.AdminAddr)}
	for _, door := range d.open {
		hosts = append(hosts, door.AdvertisedHost)
	}
	return hosts
}

// hostOf is the host of an address that has been checked.
func hostOf(addr string) string {
	host, _, _ := net.SplitHostPort(addr)
	return host
}

// checks lists what the gateway needs to serve its clients. The texts name no address: anybody may read them.
func checks(b *bridge.Bridge, remembered *state.State) []admin.Check {
	all := []admin.Check{{Name: "consumer groups", Ready: func(context.Context) error { return remembered.Ready() }}}
	if b == nil {
		return all
	}
	return append(all, admin.Check{Name: "iggy", Ready: func(ctx context.Context) error {
		if _, err := b.Topics(ctx); err != nil {
			return errors.New("does not answer")
		}
		return nil
	}})
}

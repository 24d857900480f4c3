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

// listenAdmin takes the admin port; nil if there shall be none.
func listenAdmin(ctx context.Context, cfg config.Config) (net.Listener, error) {
	if cfg.AdminAddr == "" {
		return nil, nil
	}
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", cfg.AdminAddr)
	if err != nil {
		return nil, listenMistake("IGGY_KAFKA_ADMIN_ADDR", cfg.AdminAddr, err)
	}
	return l, nil
}

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

// serve serves operators on the listener until it is stopped, which has to be before the logins' gate is closed.
func (o operated) serve(l net.Listener) (stop func() error, err error) {
	page, err := o.page()
	if err != nil {
		return nil, err
	}
	endLogins := func() {}
	if o.logins != nil {
		page.Login = statuspage.NewLogin(o.logins, o.log)
		endLogins = page.Login.Close
		if !isLoopback(l.Addr()) {
			o.log.Warn("passwords for the status page cross the network in the clear: put a proxy with TLS in front of IGGY_KAFKA_ADMIN_ADDR", "addr", o.cfg.AdminAddr)
		}
	}
	operators := admin.Start(l, admin.NewHandler(admin.Parts{
		Readiness: o.readiness, Page: statuspage.New(page), Metrics: o.meters, Profiles: o.cfg.AdminPprof, Hosts: page.Hosts,
	}), o.log)
	o.log.Info("serving operators", "addr", l.Addr().String())
	return func() error {
		defer endLogins()
		return operators.Stop()
	}, nil
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
	hosts := []string{hostOf(o.cfg.AdminAddr)}
	for _, d := range o.doors.open {
		hosts = append(hosts, d.AdvertisedHost)
		about.Listeners = append(about.Listeners, statuspage.Listener{
			Addr: d.Addr().String(), Advertised: net.JoinHostPort(d.AdvertisedHost, strconv.Itoa(int(d.AdvertisedPort))), TLS: d.tls,
		})
	}
	return statuspage.Config{
		Gateway: about, Settings: settings, APIs: newTable(o.cfg).APIs(), Snapshot: o.seen.Snapshot, Connections: o.server.Connections,
		Readiness: o.readiness.Ask, Now: o.now, Hosts: hosts,
	}, nil
}

// hostOf is the host of an address that has been checked.
func hostOf(addr string) string {
	host, _, _ := net.SplitHostPort(addr)
	return host
}

func isLoopback(addr net.Addr) bool {
	tcp, ok := addr.(*net.TCPAddr)
	return ok && tcp.IP.IsLoopback()
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

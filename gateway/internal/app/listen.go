// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"os"
	"strconv"
	"sync"
	"time"

	"github.com/iggy-kafka/iggy-kafka/gateway/internal/config"
	"github.com/iggy-kafka/iggy-kafka/gateway/internal/server"
	"github.com/iggy-kafka/iggy-kafka/gateway/internal/tlsconfig"
)

// tlsLook is how often the TLS files are looked at for changes.
const tlsLook = 5 * time.Second

// doors are where Kafka clients come in.
type doors struct {
	open     []door
	identity *tlsconfig.Identity // of the one with TLS; nil: none
	tlsHost  string              // what its clients are told to connect to
	serving  sync.WaitGroup
}

type door struct {
	server.Listener
	tls bool
}

// listen takes the ports.
func listen(ctx context.Context, cfg config.Config) (d *doors, err error) {
	d = &doors{}
	if cfg.TLSCertFile != "" {
		if d.identity, err = tlsconfig.Load(cfg.TLSFiles()); err != nil {
			return nil, fmt.Errorf("app: %w", err)
		}
	}
	main := d.identity != nil && cfg.TLSBindAddr == ""
	if err := d.take(ctx, "IGGY_KAFKA_BIND_ADDR", cfg.BindAddr, cfg.AdvertisedHost, cfg.AdvertisedPort, main); err != nil {
		return nil, err
	}
	if cfg.TLSBindAddr != "" {
		if err := d.take(ctx, "IGGY_KAFKA_TLS_BIND_ADDR", cfg.TLSBindAddr, cfg.TLSAdvertisedHost, cfg.TLSAdvertisedPort, true); err != nil {
			d.close()
			return nil, err
		}
	}
	return d, nil
}

func (d *doors) take(ctx context.Context, setting, addr, host string, port int32, tls bool) error {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", addr)
	if err != nil {
		return listenMistake(setting, addr, err)
	}
	if tcp, ok := l.Addr().(*net.TCPAddr); ok && port == 0 {
		port = int32(tcp.Port)
	}
	if tls {
		l, d.tlsHost = d.identity.Listen(l), host
	}
	d.open = append(d.open, door{server.Listener{Listener: l, AdvertisedHost: host, AdvertisedPort: port}, tls})
	return nil
}

// follow keeps to the TLS files until what it returns is called, or ctx is done.
func (d *doors) follow(ctx context.Context, reload <-chan os.Signal, log *slog.Logger) (stop func()) {
	if d.identity == nil {
		return func() {}
	}
	d.identity.Report(time.Now(), d.tlsHost, log)
	ctx, cancel := context.WithCancel(ctx)
	var following sync.WaitGroup
	following.Go(func() { d.identity.Follow(ctx, tlsLook, reload, d.tlsHost, log) })
	return func() {
		cancel()
		following.Wait()
	}
}

// serve lets clients in. The first door that closes before a shutdown says so.
func (d *doors) serve(srv *server.Server, clusterID string, log *slog.Logger) (closed <-chan error) {
	served := make(chan error, len(d.open))
	for _, l := range d.open {
		d.serving.Go(func() { served <- srv.Serve(l.Listener) })
		log.Info("serving kafka clients", "addr", l.Addr().String(),
			"advertised", net.JoinHostPort(l.AdvertisedHost, strconv.Itoa(int(l.AdvertisedPort))), "tls", l.tls, "cluster_id", clusterID)
	}
	return served
}

// close may be called before serve and after; again it does nothing.
func (d *doors) close() {
	for _, l := range d.open {
		l.Close()
	}
	d.serving.Wait()
}

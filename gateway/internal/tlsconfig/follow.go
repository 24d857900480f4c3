// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package tlsconfig

import (
	"context"
	"log/slog"
	"os"
	"time"
)

// Log keys.
const (
	keyAdvertised  = "advertised"
	keyClientCerts = "client_certificates"
	keyError       = "error"
	keyFile        = "file"
	keyNames       = "names"
	keyNotAfter    = "not_after"
	keyNotBefore   = "not_before"
)

// Follow reads the files again whenever asked says so, and looks every so often whether they have changed, until ctx is
// done. It is called once. What is broken is told once, and what was read before it stays in use. Files change one after the other: a
// certificate whose key is not there yet is broken until the next look.
//
// Reading them costs less than a mistake of theirs: modification times miss links that were turned, as Kubernetes does
// with secrets, and changes within one tick of the file system's clock.
func (i *Identity) Follow(ctx context.Context, every time.Duration, asked <-chan os.Signal, host string, log *slog.Logger) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-asked:
			i.tried = "" // who asks is told, also of what has not changed
		case <-tick.C:
		}
		changed, err := i.reload()
		switch {
		case err != nil:
			log.Warn("tls files are at fault; the certificate that was read before stays in use", keyError, err)
		case changed:
			i.Report(time.Now(), host, log)
		}
	}
}

// Report logs which certificate clients are shown, and warns of what they would refuse it for: its dates, and that it does
// not name host, which they are told to connect to.
func (i *Identity) Report(now time.Time, host string, log *slog.Logger) {
	cert := i.certificate()
	var names []string
	names = append(names, cert.DNSNames...)
	for _, ip := range cert.IPAddresses {
		names = append(names, ip.String())
	}
	clients := "not asked for"
	if i.files.ClientCA != "" {
		clients = "required"
	}
	log.Info("tls certificate read", keyFile, i.files.Cert, keyNames, names, keyNotAfter, cert.NotAfter, keyClientCerts, clients)
	if now.After(cert.NotAfter) || now.Before(cert.NotBefore) {
		log.Warn("tls certificate is not valid now: clients will refuse it", keyFile, i.files.Cert,
			keyNotBefore, cert.NotBefore, keyNotAfter, cert.NotAfter)
	}
	if err := cert.VerifyHostname(host); err != nil {
		log.Warn("tls certificate does not name the advertised host: clients that check will refuse it", keyFile, i.files.Cert,
			keyAdvertised, host, keyNames, names)
	}
}

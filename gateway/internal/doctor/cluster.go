// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"context"
	"net"
	"strconv"
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"
	"golang.org/x/sync/errgroup"

	"github.com/iggy-kafka/iggy-kafka/gateway/internal/config"
)

// visitsAtOnce is how many brokers are visited at a time.
const visitsAtOnce = 8

// adviceAdvertised is what is behind the mistake that is made most often.
const adviceAdvertised = "A client uses the bootstrap address only to ask where the brokers are, and from then on connects to what they advertise. " +
	"Set IGGY_KAFKA_ADVERTISED_HOST and IGGY_KAFKA_ADVERTISED_PORT (on a Kafka broker advertised.listeners) to what this machine reaches it by; "

// advertised visits every broker where the cluster says that it is, and looks whether it is of the same cluster.
func (e *examination) advertised(ctx context.Context) finding {
	cluster := e.bootstrap.cluster
	troubles := make([]finding, len(cluster.Brokers))
	var group errgroup.Group
	group.SetLimit(visitsAtOnce)
	var places []string
	for i := range cluster.Brokers {
		place := advertisedAddress(&cluster.Brokers[i])
		places = append(places, shown(place))
		if place == e.bootstrap.address() {
			continue // that is where all of this comes from
		}
		group.Go(func() error {
			troubles[i] = e.elsewhere(ctx, place, *cluster.ClusterID)
			return nil
		})
	}
	_ = group.Wait() // there are no errors
	var found []string
	advice := adviceAdvertised + "here " + e.bootstrap.address() + " answers."
	for i, trouble := range troubles {
		if trouble.Status != Failed {
			continue
		}
		found = append(found, "clients are told to connect to "+places[i]+" for broker "+strconv.Itoa(int(cluster.Brokers[i].NodeID))+", but "+trouble.Found)
		if trouble.Advice == adviceOwnUser { // which is no mistake of the address's
			advice = adviceOwnUser
		}
	}
	told := strings.Join(places, ", ")
	switch {
	case len(found) > 0:
		return failed(strings.Join(found, "; "), advice)
	case e.onlyHere():
		return warning("clients are told to connect to "+told+", which only this machine understands as this server",
			"Before clients elsewhere use it: "+adviceAdvertised+"localhost is every machine's own.")
	}
	return ok("clients are told to connect to %s, which is the same cluster", told)
}

// advertisedAddress is host:port, of IPv6 with brackets.
func advertisedAddress(b *kmsg.MetadataResponseBroker) string {
	return net.JoinHostPort(b.Host, strconv.Itoa(int(b.Port)))
}

// elsewhere has failed if something is wrong with a broker at an address.
func (e *examination) elsewhere(ctx context.Context, place, cluster string) finding {
	v := newVisit(&e.Options, place)
	defer v.close()
	f := v.travel(ctx)
	if f.Status == Failed {
		return f
	}
	if id := *v.cluster.ClusterID; id != cluster {
		return failed("there another cluster answers: "+shown(id)+", not "+shown(cluster), "")
	}
	return f
}

// onlyHere says whether a server that was not reached by a loopback address advertises one.
func (e *examination) onlyHere() bool {
	if config.Loopback(e.bootstrap.host) {
		return false
	}
	for i := range e.bootstrap.cluster.Brokers {
		if config.Loopback(e.bootstrap.cluster.Brokers[i].Host) {
			return true
		}
	}
	return false
}

// controller looks for the broker that clients make topics at.
func (e *examination) controller(context.Context) finding {
	cluster := e.bootstrap.cluster
	for i := range cluster.Brokers {
		if b := &cluster.Brokers[i]; b.NodeID == cluster.ControllerID {
			return ok("broker %d, %s", b.NodeID, shown(advertisedAddress(b)))
		}
	}
	return failed("no broker is the controller, now "+strconv.Itoa(int(cluster.ControllerID)),
		"Topics cannot be made until there is one. Look at the brokers' logs.")
}

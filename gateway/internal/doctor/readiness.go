// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/iggy-kafka/iggy-kafka/gateway/internal/diagnosis"
)

// maxReadiness is how much of an answer is read, in bytes.
const maxReadiness = 4 << 10

// readiness asks the gateway's admin listener whether it is ready to serve.
func (e *examination) readiness(ctx context.Context) finding {
	if e.Target.Admin == "" {
		return skipped("no admin listener was given (--admin)")
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+e.Target.Admin+"/readyz", nil)
	if err != nil {
		return failed("no address of an admin listener: "+cause(err), "Give --admin HOST:PORT.")
	}
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}, CheckRedirect: stay}
	resp, err := client.Do(req)
	if err != nil {
		return failed("the admin listener does not answer: "+cause(err),
			"Its address is IGGY_KAFKA_ADMIN_ADDR's, 127.0.0.1:9094 by default, which only the gateway's own machine reaches.")
	}
	defer resp.Body.Close()
	body, _ := io.ReadAll(io.LimitReader(resp.Body, maxReadiness)) // what came is shown
	switch said := shown(strings.TrimSpace(string(body))); {
	case resp.StatusCode == http.StatusOK:
		return ok("%s/readyz says %s", e.Target.Admin, said)
	case resp.StatusCode == http.StatusServiceUnavailable:
		return failed("the gateway is not ready: "+said, "If iggy does not answer: is it running, and at IGGY_KAFKA_IGGY_ADDR? The gateway's log says more.")
	default:
		return failed(fmt.Sprintf("%s/readyz answers %s", e.Target.Admin, shown(resp.Status)), "That is no gateway's admin listener.")
	}
}

// stay follows no redirection: what is elsewhere is no gateway's.
func stay(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

// clock compares this machine's clock with the one that records were stamped by.
func (e *examination) clock(context.Context) finding {
	s := e.records.stamp
	if s == nil {
		return skipped("the topic keeps the times of its producers")
	}
	ahead := "ahead of"
	if s.off < 0 {
		ahead = "behind"
	}
	found := fmt.Sprintf("records are stamped by a clock that is %v %s this machine's, give or take %v", Millis(s.off.Abs()), ahead, Millis(s.within))
	if diagnosis.ClocksApart(s.off, s.within) {
		return warning(found, "Have both machines follow a time server (NTP). Records are kept and found by their times, and those more than an hour ahead are refused "+
			"(message.timestamp.after.max.ms).")
	}
	return finding{OK, found, ""}
}

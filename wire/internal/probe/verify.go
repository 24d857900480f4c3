// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggy-kafka/iggy-kafka/wire"
)

const (
	saslHandshakeKey    = 17
	describeACLsKey     = 29
	saslAuthenticateKey = 36

	unknownServerError = -1
)

// Check is one thing that was tried on a server.
type Check struct {
	Key     int16
	API     string
	Version int16
	Want    Want
	Detail  string // what was seen
	Err     error  // why that is wrong; nil if it is not
}

// Want is what a check looks for.
type Want string

const (
	Answered  Want = "answered"   // whole, in its layout, with the request's correlation id
	Refused   Want = "refused"    // the connection is closed without an answer
	FallsBack Want = "falls back" // ApiVersions in version 0 with error 35, and the connection goes on (KIP-511)
	Listed    Want = "listed"     // advertised as this release's table has it
	Skipped   Want = "skipped"    // nothing: what is advertised is not known here
)

// Verifier tries a server.
type Verifier struct {
	Addr    string
	Timeout time.Duration // of each exchange
	Absent  Absent
	// Table says that the server must advertise what this release's table does, no more and no less.
	Table bool

	correlationID int32
}

// Verify sends a harmless request of every API and version that the server advertises and that is known here, and
// of those just outside, one after the other. What a server does wrong is in the checks; the error says that there
// is none, or that it does not say what it speaks.
func (v *Verifier) Verify(ctx context.Context) ([]Check, error) {
	ranges, err := v.advertised(ctx)
	if err != nil {
		return nil, err
	}
	var checks []Check
	if v.Table {
		checks = compare(wire.NewTable(), ranges)
	}
	known := wire.NewTable(wire.ServeAll())
	for _, r := range ranges {
		api, ok := known.Lookup(r.ApiKey)
		if !ok {
			checks = append(checks, Check{Key: r.ApiKey, API: kmsg.NameForKey(r.ApiKey), Version: r.MaxVersion, Want: Skipped,
				Detail: "unknown here"})
			continue
		}
		for version := max(r.MinVersion, api.Min); version <= min(r.MaxVersion, api.Max); version++ {
			checks = append(checks, v.answered(ctx, api, version))
		}
		if r.MaxVersion > api.Max {
			checks = append(checks, Check{Key: api.Key, API: api.Name, Version: r.MaxVersion, Want: Skipped,
				Detail: fmt.Sprintf("unknown here above %d", api.Max)})
		}
		checks = append(checks, v.outside(ctx, api, r)...)
	}
	checks = append(checks, v.unlisted(ctx, known, ranges)...)
	return checks, ctx.Err()
}

// advertised asks for the ranges in the version that every server speaks.
func (v *Verifier) advertised(ctx context.Context) ([]kmsg.ApiVersionsResponseApiKey, error) {
	answer, err := v.exchange(ctx, Harmless(apiVersionsKey, 0, v.Absent))
	if err != nil {
		return nil, err
	}
	resp := answer.Body.(*kmsg.ApiVersionsResponse)
	if resp.ErrorCode != 0 {
		return nil, fmt.Errorf("probe: ApiVersions v0 is answered with error %d", resp.ErrorCode)
	}
	return resp.ApiKeys, nil
}

// compare holds the ranges against a table.
func compare(table *wire.Table, ranges []kmsg.ApiVersionsResponseApiKey) (checks []Check) {
	left := slices.Clone(ranges)
	for _, api := range table.APIs() {
		i := slices.IndexFunc(left, func(r kmsg.ApiVersionsResponseApiKey) bool { return r.ApiKey == api.Key })
		check := Check{Key: api.Key, API: api.Name, Version: api.Max, Want: Listed}
		switch {
		case i < 0 && !api.Advertised():
			continue
		case i < 0:
			check.Err = errors.New("not advertised")
		default:
			check.Detail = fmt.Sprintf("%d-%d", left[i].MinVersion, left[i].MaxVersion)
			if !api.Advertised() || left[i].MinVersion != api.AdvertisedMin || left[i].MaxVersion != api.Max {
				check.Err = errors.New("not as this release serves it")
			}
			left = slices.Delete(left, i, i+1)
		}
		checks = append(checks, check)
	}
	for _, r := range left {
		checks = append(checks, Check{Key: r.ApiKey, API: kmsg.NameForKey(r.ApiKey), Version: r.MaxVersion, Want: Listed,
			Err: errors.New("this release does not serve it")})
	}
	return checks
}

// answered checks one version that is advertised.
func (v *Verifier) answered(ctx context.Context, api wire.API, version int16) Check {
	check := Check{Key: api.Key, API: api.Name, Version: version, Want: Answered}
	var before []kmsg.Request
	if api.Key == saslAuthenticateKey {
		before = append(before, Harmless(saslHandshakeKey, 1, v.Absent))
	}
	answer, err := v.exchange(ctx, Harmless(api.Key, version, v.Absent), before...)
	if err != nil {
		check.Err = err
		return check
	}
	codes := ErrorCodes(answer.Body)
	if len(codes) > 0 {
		check.Detail = fmt.Sprintf("error codes %v", codes)
	}
	for _, code := range []int16{unsupportedVersion, unknownServerError} {
		if slices.Contains(codes, code) {
			check.Err = fmt.Errorf("error %d on a request that is advertised", code)
		}
	}
	return check
}

// outside checks the versions next to those advertised, and those that are advertised and not served.
func (v *Verifier) outside(ctx context.Context, api wire.API, r kmsg.ApiVersionsResponseApiKey) (checks []Check) {
	versions := []int16{r.MinVersion - 1}
	for version := r.MinVersion; version < api.Min; version++ {
		versions = append(versions, version)
	}
	for _, version := range versions {
		checks = append(checks, v.refused(ctx, api, version))
	}
	if api.Key == apiVersionsKey {
		return append(checks, v.fallsBack(ctx, api, r))
	}
	return append(checks, v.refused(ctx, api, r.MaxVersion+1))
}

// unlisted checks keys that are not advertised: other vendors', and this gateway's of later releases. What is left out
// of the list only because the server has no authentication is refused in ways of its own.
func (v *Verifier) unlisted(ctx context.Context, known *wire.Table, ranges []kmsg.ApiVersionsResponseApiKey) (checks []Check) {
	apis := known.APIs()
	for _, key := range []int16{-1, 501, 10001, 32767} {
		apis = append(apis, wire.API{Key: key, Name: "(unknown)"})
	}
	for _, api := range apis {
		if slices.Contains([]int16{saslHandshakeKey, describeACLsKey, saslAuthenticateKey}, api.Key) {
			continue
		}
		if !slices.ContainsFunc(ranges, func(r kmsg.ApiVersionsResponseApiKey) bool { return r.ApiKey == api.Key }) {
			checks = append(checks, v.refused(ctx, api, api.Max))
		}
	}
	return checks
}

// refused checks that a request is not answered. It has the body of the nearest version known, but for its version it
// is in order.
func (v *Verifier) refused(ctx context.Context, api wire.API, version int16) Check {
	check := Check{Key: api.Key, API: api.Name, Version: version, Want: Refused}
	bytes, err := exchangeOnce(ctx, v.Addr, v.Timeout, v.outsideFrame(api, version))
	switch {
	case err == nil && api.Key == apiVersionsKey && fallback(bytes):
		check.Detail = "answered with error 35, as Kafka does"
	case err == nil:
		check.Err = errors.New("answered")
	case !errors.Is(err, ErrNoAnswer):
		check.Err = err
	}
	return check
}

// fallback says whether this is an answer of ApiVersions to a version that the server does not speak. Kafka gives it for
// versions below 0 as well.
func fallback(frame []byte) bool {
	answer, err := DecodeAnswer(apiVersionsKey, 0, frame)
	return err == nil && slices.Contains(ErrorCodes(answer.Body), unsupportedVersion)
}

func (v *Verifier) outsideFrame(api wire.API, version int16) []byte {
	nearest := min(max(version, api.Min), api.Max)
	req := Harmless(api.Key, nearest, v.Absent)
	if req == nil {
		req = kmsg.NewPtrApiVersionsRequest() // of a key that nobody knows any body will do
	}
	v.correlationID++
	frame := Frame(req, v.correlationID)
	binary.BigEndian.PutUint16(frame[4:], uint16(api.Key))
	binary.BigEndian.PutUint16(frame[6:], uint16(version))
	return frame
}

// fallsBack checks ApiVersions above the highest version.
func (v *Verifier) fallsBack(ctx context.Context, api wire.API, r kmsg.ApiVersionsResponseApiKey) Check {
	check := Check{Key: api.Key, API: api.Name, Version: r.MaxVersion + 1, Want: FallsBack}
	check.Err = func() error {
		conn, err := Dial(ctx, v.Addr, v.Timeout)
		if err != nil {
			return err
		}
		defer conn.Close()
		frame := v.outsideFrame(api, r.MaxVersion+1)
		answer, err := v.ask(ctx, conn, frame, api.Key, r.MaxVersion+1)
		if err != nil {
			return err
		}
		resp := answer.Body.(*kmsg.ApiVersionsResponse)
		own := slices.IndexFunc(resp.ApiKeys, func(k kmsg.ApiVersionsResponseApiKey) bool { return k.ApiKey == apiVersionsKey })
		if resp.Version != 0 || resp.ErrorCode != unsupportedVersion || own < 0 || resp.ApiKeys[own].MaxVersion != r.MaxVersion {
			return fmt.Errorf("version %d, error %d, %v", resp.Version, resp.ErrorCode, resp.ApiKeys)
		}
		v.correlationID++
		version := min(r.MaxVersion, api.Max)
		_, err = v.ask(ctx, conn, Frame(Harmless(api.Key, version, v.Absent), v.correlationID), api.Key, version)
		return err
	}()
	return check
}

// exchange asks on a connection of its own; what comes before the request is answered somehow.
func (v *Verifier) exchange(ctx context.Context, req kmsg.Request, before ...kmsg.Request) (Answer, error) {
	conn, err := Dial(ctx, v.Addr, v.Timeout)
	if err != nil {
		return Answer{}, err
	}
	defer conn.Close()
	var answer Answer
	for _, req := range append(before, req) {
		v.correlationID++
		if answer, err = v.ask(ctx, conn, Frame(req, v.correlationID), req.Key(), req.GetVersion()); err != nil {
			return Answer{}, err
		}
	}
	return answer, nil
}

// ask sends a frame and decodes what must be the answer to it.
func (v *Verifier) ask(ctx context.Context, conn *Conn, frame []byte, key, version int16) (Answer, error) {
	bytes, err := conn.Exchange(ctx, frame)
	if err != nil {
		return Answer{}, err
	}
	answer, err := DecodeAnswer(key, version, bytes)
	if err == nil && answer.CorrelationID != v.correlationID {
		err = fmt.Errorf("probe: %w: correlation id %d for request %d", ErrBadAnswer, answer.CorrelationID, v.correlationID)
	}
	return answer, err
}

// ErrorCodes lists the different error codes in an answer, at any level, without 0.
func ErrorCodes(resp kmsg.Response) []int16 {
	var codes []int16
	collect(reflect.ValueOf(resp), &codes)
	slices.Sort(codes)
	return slices.Compact(codes)
}

func collect(v reflect.Value, codes *[]int16) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			collect(v.Elem(), codes)
		}
	case reflect.Slice:
		for i := range v.Len() {
			collect(v.Index(i), codes)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if code := v.Field(i); v.Type().Field(i).Name == "ErrorCode" {
				if code.Int() != 0 {
					*codes = append(*codes, int16(code.Int()))
				}
			} else {
				collect(code, codes)
			}
		}
	}
}

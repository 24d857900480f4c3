// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package config

import (
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/alecthomas/kong"

	"github.com/iggy-kafka/iggy-kafka/bridge"
)

// decoders makes kong read each kind of field by decode and file what is wrong under faults instead of stopping at the first.
func decoders(faults *Faults) kong.Option {
	file := kong.MapperFunc(func(ctx *kong.DecodeContext, target reflect.Value) error {
		var text string
		if err := ctx.Scan.PopValueInto("value", &text); err != nil {
			return err
		}
		if err := decode(text, ctx.Value.Tag, target); err != nil {
			shown := text
			if target.Type() == reflect.TypeFor[Secret]() {
				shown = mask
			}
			*faults = append(*faults, Fault{variable(ctx.Value.Name), shown, err.Error()})
		}
		return nil
	})
	return kong.OptionFunc(func(k *kong.Kong) error {
		options := []kong.Option{
			kong.TypeMapper(reflect.TypeFor[time.Duration](), file),
			kong.TypeMapper(reflect.TypeFor[slog.Level](), file),
			kong.KindMapper(reflect.String, file),
			kong.KindMapper(reflect.Int, file),
			kong.KindMapper(reflect.Int32, file),
			kong.KindMapper(reflect.Int64, file),
			kong.TypeMapper(reflect.TypeFor[bool](), boolMapper{file}),
		}
		for _, option := range options {
			if err := option.Apply(k); err != nil {
				return err
			}
		}
		return nil
	})
}

// boolMapper lets a flag stand without a value: --embedded is --embedded=true.
type boolMapper struct{ kong.Mapper }

func (boolMapper) IsBool() bool { return true }

func (m boolMapper) Decode(ctx *kong.DecodeContext, target reflect.Value) error {
	if ctx.Scan.Peek().Type != kong.FlagValueToken {
		target.SetBool(true)
		return nil
	}
	if set, ok := ctx.Scan.Peek().Value.(bool); ok { // what kong itself puts there for a flag without a value
		ctx.Scan.Pop()
		target.SetBool(set)
		return nil
	}
	return m.Mapper.Decode(ctx, target)
}

// decode parses text into target by its type and checks it by its tags.
func decode(text string, tag *kong.Tag, target reflect.Value) error {
	switch target.Interface().(type) {
	case bool:
		if text != "true" && text != "false" {
			return errors.New("neither true nor false")
		}
		target.SetBool(text == "true")
	case slog.Level:
		level, ok := levels()[text]
		if !ok {
			return errors.New("not one of debug, info, warn, error")
		}
		target.SetInt(int64(level))
	case time.Duration:
		n, err := decodeNumber(text, tag.Get("range"))
		if err != nil {
			return err
		}
		target.SetInt(n * int64(unit(tag)))
	case int, int32, int64:
		n, err := decodeNumber(text, tag.Get("range"))
		if err != nil {
			return err
		}
		target.SetInt(n)
	default:
		if err := checkText(text, tag); err != nil {
			return err
		}
		target.SetString(text)
	}
	return nil
}

// format is the inverse of decode, but for secrets.
func format(v *kong.Value) string {
	switch x := v.Target.Interface().(type) {
	case slog.Level:
		return strings.ToLower(x.String())
	case time.Duration:
		return strconv.FormatInt(int64(x/unit(v.Tag)), 10)
	default:
		return fmt.Sprint(x)
	}
}

func levels() map[string]slog.Level {
	return map[string]slog.Level{"debug": slog.LevelDebug, "info": slog.LevelInfo, "warn": slog.LevelWarn, "error": slog.LevelError}
}

func unit(tag *kong.Tag) time.Duration {
	switch tag.Get("unit") {
	case "ms":
		return time.Millisecond
	case "minutes":
		return time.Minute
	case "days":
		return 24 * time.Hour
	default:
		return time.Second
	}
}

// decodeNumber reads digits only (no sign, no spaces) within bounds written as low-high or low-.
func decodeNumber(text, bounds string) (int64, error) {
	lowText, highText, _ := strings.Cut(bounds, "-")
	low, high := parseBound(lowText, 0), parseBound(highText, math.MaxInt64)
	n, err := strconv.ParseUint(text, 10, 63)
	switch {
	case errors.Is(err, strconv.ErrSyntax):
		return 0, errors.New("not a whole number")
	case err != nil, int64(n) > high:
		return 0, fmt.Errorf("above %d", high)
	case int64(n) < low:
		return 0, fmt.Errorf("below %d", low)
	}
	return int64(n), nil
}

func parseBound(text string, otherwise int64) int64 {
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		return n
	}
	return otherwise
}

func checkText(text string, tag *kong.Tag) error {
	if words := tag.Get("oneof"); words != "" && !slices.Contains(strings.Split(words, ","), text) {
		return errors.New("not one of " + strings.ReplaceAll(words, ",", ", "))
	}
	switch tag.Get("rule") {
	case "address":
		return checkAddress(text)
	case "address-or-none":
		if text != "" {
			return checkAddress(text)
		}
	case "required":
		if text == "" {
			return errors.New("must not be empty")
		}
	case "topic":
		return bridge.ValidateTopicName(text)
	case "topic-patterns":
		_, err := parsePatterns(text)
		return err
	case "iggy-name": // Iggy's names of streams and topics
		if len(text) < 1 || len(text) > 255 {
			return errors.New("must have 1 to 255 bytes")
		}
	}
	return nil
}

func checkAddress(text string) error {
	_, port, err := net.SplitHostPort(text)
	if err != nil {
		return errors.New("not host:port")
	}
	if n, err := strconv.ParseUint(port, 10, 16); err != nil || strconv.FormatUint(n, 10) != port {
		return errors.New("the port is not a number up to 65535")
	}
	return nil
}

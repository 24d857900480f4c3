// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package clients

import "context"

func (r *Process) GrowTopic(ctx context.Context, topic string, partitions int) error {
	return r.call(ctx, "grow_topic", map[string]any{"topic": topic, "partitions": partitions}, nil)
}

func (r *Process) Settings(ctx context.Context, topic string) (settings map[string]string, err error) {
	err = r.call(ctx, "settings", map[string]any{"topic": topic}, &settings)
	return settings, err
}

func (r *Process) AlterSettings(ctx context.Context, topic string, settings map[string]string) error {
	return r.call(ctx, "alter_settings", map[string]any{"topic": topic, "settings": settings}, nil)
}

func (r *Process) ReplaceSettings(ctx context.Context, topic string, settings map[string]string) error {
	return r.call(ctx, "replace_settings", map[string]any{"topic": topic, "settings": settings}, nil)
}

// ProducerRate and SetProducerRate are lacking: none of the libraries has quotas.
func (r *Process) ProducerRate(context.Context, string) (float64, error) { return 0, ErrLacking }

func (r *Process) SetProducerRate(context.Context, string, float64) error { return ErrLacking }

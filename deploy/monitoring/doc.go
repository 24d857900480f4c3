// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

// Package monitoring checks the alert rules for Prometheus and the dashboard for Grafana: that each expression is PromQL, and asks for
// metrics that the gateway has, with labels that these have. What it has docs/metrics.md says, which the gateway's tests keep true.
package monitoring

// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

// Package lint checks what deploy ships with the code of the tools that read it: the Dockerfile with BuildKit's linter, compose files
// with Compose's loader, manifests by decoding them strictly into Kubernetes' types and by its Pod Security Standards, the unit with
// systemd-analyze; and that they, the gateway and each other agree on settings, ports and times.
//
// Neither Docker nor a cluster is needed. What only they can show is not tested: deploy/README.md says what that is.
package lint

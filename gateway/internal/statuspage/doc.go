// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

// Package statuspage shows operators, in a browser, what a gateway knows and does: topics, groups, clients, the protocol that
// it serves, its settings. It only reads.
//
// Pages are rendered here, from templates, a style sheet and a script that are part of the binary. Nothing comes from
// elsewhere, and the browser is told to refuse what would (Content-Security-Policy). The script asks for the page anew every
// few seconds and changes what has changed; without it there is a link that does.
//
// Who sees what:
//
//   - Where clients authenticate, so does who looks: by HTTP Basic, as a user of Iggy, through the gate that clients pass.
//     They see what the Kafka APIs would tell them. A topic that they may not describe is on no page.
//   - Where clients do not, everybody who reaches the address sees everything. A page of somebody else's that a browser
//     shows could reach it as well, under a name of its own that it lets point here (DNS rebinding): so requests must name
//     the gateway by an address, or by a name that nobody can register or that the settings know.
package statuspage

// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package sasl

// Input is what a connection's client sends, or what came of the check of its token.
type Input uint8

const (
	Versions     Input = iota // ApiVersions
	Handshake                 // SaslHandshake v1 for PLAIN: the token will come in a SaslAuthenticate
	RawHandshake              // SaslHandshake v0 for PLAIN: the token will be the next frame, without a request header
	Foreign                   // SaslHandshake for a mechanism that is not offered
	Token                     // SaslAuthenticate, or the frame that is a token
	Request                   // any other request
	Accepted                  // the token is good
	Rejected                  // it is not
	Unchecked                 // nobody could say
	numInputs
)

// Verdict is what to do about an Input.
type Verdict uint8

const (
	Close   Verdict = iota // close the connection without an answer
	Expire                 // the same: the session's lifetime is over
	Serve                  // answer the request as if there were no authentication
	Agree                  // accept the handshake
	Offer                  // answer UNSUPPORTED_SASL_MECHANISM with what is offered, then close
	Check                  // check the token
	Admit                  // tell the client that it has authenticated
	Refuse                 // answer SASL_AUTHENTICATION_FAILED, or nothing to a raw token, then close
	Decline                // answer ILLEGAL_SASL_STATE; the connection goes on
	Illegal                // the same in the request's own shape, then close
)

// state is how far a connection has come.
type state uint8

const (
	fresh            state = iota // before a handshake
	awaitingToken                 // after SaslHandshake v1
	awaitingRawToken              // after SaslHandshake v0
	checking                      // a token is being checked
	ready                         // authenticated
	renewable                     // ready, and may authenticate again
	expired                       // ready, but has to authenticate again
	closed                        // nothing is answered any more
	numStates
)

type transition struct {
	next    state
	verdict Verdict
}

// transitions is the whole machine. What it does not list closes the connection. The rows are those of Kafka's
// SaslServerAuthenticator, and for who is ready those of SocketServer.processCompletedReceives and of KafkaApis.
func transitions() (table [numStates][numInputs]transition) {
	for s := range table {
		for in := range table[s] {
			table[s][in] = transition{closed, Close}
		}
	}
	table[fresh][Versions] = transition{fresh, Serve}
	for _, s := range []state{fresh, renewable, expired} {
		table[s][Handshake] = transition{awaitingToken, Agree}
		table[s][RawHandshake] = transition{awaitingRawToken, Agree}
		table[s][Foreign] = transition{closed, Offer}
	}

	table[awaitingToken][Token] = transition{checking, Check}
	for _, in := range []Input{Versions, Handshake, RawHandshake, Foreign, Request} {
		table[awaitingToken][in] = transition{closed, Illegal}
	}
	table[awaitingRawToken][Token] = transition{checking, Check}

	table[checking][Accepted] = transition{ready, Admit}
	table[checking][Rejected] = transition{closed, Refuse}

	for _, s := range []state{ready, renewable} {
		table[s][Versions] = transition{ready, Serve}
		table[s][Request] = transition{ready, Serve}
		table[s][Token] = transition{ready, Decline}
	}
	for _, in := range []Input{Handshake, RawHandshake, Foreign} {
		table[ready][in] = transition{ready, Decline}
	}
	for _, in := range []Input{Versions, Request, Token} {
		table[expired][in] = transition{closed, Expire}
	}
	return table
}

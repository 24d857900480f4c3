// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

// Package documents reads the repository's Markdown pages: their commands, files, headings and links.
//
// It knows as much of Markdown as these pages use: headings that begin with #, blocks fenced by three backticks at any
// indentation, code spans on one line, and links in brackets.
//
// A block in the language log is what a program says; an ellipsis (…) stands for what differs. A comment right before it,
// <!-- said by COMMAND -->, is how to have it said; without one the words must be in the source (gateway/internal/docs).
//
// A page's commands are its blocks in the language sh and its code spans that begin with a command's name. Tests run them
// as they stand (package suite, TestDocuments), but for those that testdata/not-run.txt names with the reason.
package documents

// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

// Package recordcodec reads and writes Kafka's record batches, the unit in which records travel and are stored since Kafka 0.11
// (KIP-98), with every compression that Kafka has. Its sub-package mapping turns records into Apache Iggy messages and back. Neither
// does any input or output, reads a clock, or starts a goroutine of its own.
//
// # A record batch
//
// Numbers are big-endian; the CRC-32C covers all that follows it, so a broker may set the base offset and the leader epoch without
// computing it again:
//
//	 0 i64 base offset             | offset of the first record
//	 8 i32 length                  | bytes after this field
//	12 i32 partition leader epoch  |
//	16 i8  magic                   | 2; at the same place in all formats
//	17 u32 CRC-32C                 | of bytes 21 to the end
//	21 i16 attributes              | bits 0-2 codec, 3 log append time, 4 transactional, 5 control
//	23 i32 last offset delta       | offset of the last record - base offset
//	27 i64 base timestamp          | ms
//	35 i64 max timestamp           | ms
//	43 i64 producer id             | -1: not idempotent
//	51 i16 producer epoch          |
//	53 i32 base sequence           |
//	57 i32 count                   | records
//	61     records                 | one after another; compressed, if at all, as a whole
//
// A record, its numbers zigzag varints:
//
//	varint length | i8 attributes | varlong timestamp delta | varint offset delta |
//	varint key length | key | varint value length | value | varint header count | headers
//
// A header is drawn at RawHeaders. Length -1 means null, for keys, values and header values.
//
// Of the codecs, gzip and zstd are plain streams (several members or frames are read), LZ4 is the frame format (lz4.go), and snappy is
// either one raw block or the chunks of snappy-java (snappy.go). Message sets, formats 0 and 1, are recognised and refused with
// ErrLegacy; DecodeMessageSet reads them (legacy.go).
//
// # Whose duty is what
//
// Decode checks everything that can be checked without knowing the log: CRC, lengths, counts, compressed data. The caller judges what
// depends on its role: Contiguous, base offset 0, the transactional and control bits, timestamps. The caller also says how much a
// batch may cost (Limits), and can learn the cost before it is paid (MaxDecompressed).
//
// A decoded Batch either points into the bytes that it was decoded from, which must then stay as they are, or owns a pooled buffer
// until Release. Decoders and Encoders are safe for concurrent use; batches, iterators and writers belong to one goroutine.
package recordcodec

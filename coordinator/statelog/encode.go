// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package statelog

import "fmt"

// encode adds records to what one caller wants appended: each as one message, or as parts if it is longer than one may be.
func (p *partition) encode(item *pending, records []record) error {
	for _, r := range records {
		payload := appendRecord(nil, p.writer, r)
		switch {
		case len(payload) > p.cfg.MaxRecord:
			return fmt.Errorf("%w: %d bytes, at most %d", ErrRecordTooLarge, len(payload), p.cfg.MaxRecord)
		case len(payload) > p.cfg.MaxMessage:
			item.payloads = appendParts(item.payloads, p.writer, payload, p.cfg.MaxMessage)
		default:
			item.payloads = append(item.payloads, payload)
		}
		item.size += len(payload)
	}
	return nil
}

// partOverhead is at least what a part adds to its data: two numbers and a length of up to 5 bytes each.
const partOverhead = recordHeader + 3*5

func appendParts(payloads [][]byte, writer writerID, payload []byte, size int) [][]byte {
	size -= partOverhead
	count := (len(payload) + size - 1) / size
	for i := range count {
		data := payload[i*size : min((i+1)*size, len(payload))]
		payloads = append(payloads, appendRecord(nil, writer, part{uint64(i), uint64(count), string(data)}))
	}
	return payloads
}

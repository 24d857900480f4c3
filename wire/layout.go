// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package wire

//go:generate go run ./internal/layoutgen -o layouts_gen.go

const fetchKey = 1

// layout is one row of the generated table: how the request of one API and version is laid out.
type layout struct {
	key     int16
	version int16
	// header is the request header's version, respHeader the response header's.
	header, respHeader int8
	// body is the layout in the notation of compile.
	body string
	// elems has the size in bytes of the Go type that kmsg decodes an element into, for each array of body in the
	// order of their opening brackets.
	elems []int64
}

// fieldKind is what a field looks like on the wire.
type fieldKind uint8

const (
	fixed         fieldKind = iota // width bytes
	str                            // int16 length, negative = null
	bytes                          // int32 length, negative = null
	compact                        // unsigned varint length + 1, 0 = null; a string
	compactBytes                   // the same; bytes
	array                          // int32 count, negative = null
	compactArray                   // unsigned varint count + 1, 0 = null
	tagged                         // tagged fields (KIP-482)
	nullableGroup                  // int8, negative = absent, then the fields
)

// field is one step of a walk.
type field struct {
	kind fieldKind
	// width is the number of bytes of a fixed field.
	width int
	// fields are an array's element or a nullable group's content.
	fields []field
	// elemSize is what decoding one element of an array allocates for the element itself, in bytes.
	elemSize int64
	// scalar says that an element of the array is one fixed field.
	scalar bool
	// nested has, for tagged fields, the layout of each one's value in which there are tagged fields again.
	nested map[int][]field
}

// compile turns a row's layout into steps. Its notation: 1 2 4 8 that many bytes, U 16 of them; S string, B bytes;
// s and b the same in compact form; [..] array, {..} compact array; T tagged fields; ?(..) nullable group.
func (l layout) compile() []field {
	c := compiler{rest: l.body, elems: l.elems}
	fields := c.fields()
	if last := len(fields) - 1; l.key == fetchKey && fields[last].kind == tagged {
		fields[last].nested = replicaState()
	}
	return fields
}

// replicaState is Fetch's tagged field 1 (KIP-903): replica id, replica epoch and tagged fields. In no other request
// does kmsg decode a tagged field that has such in it. It does so below v15 too, where the field has no meaning.
func replicaState() map[int][]field {
	return map[int][]field{1: layout{body: "48T"}.compile()}
}

type compiler struct {
	rest  string
	elems []int64
}

// fields compiles up to the closing bracket or the end. Neighbouring fixed fields become one.
func (c *compiler) fields() []field {
	var out []field
	for c.rest != "" {
		token := c.rest[0]
		c.rest = c.rest[1:]
		switch token {
		case '1', '2', '4', '8':
			out = appendFixed(out, int(token-'0'))
		case 'U':
			out = appendFixed(out, 16)
		case 'S':
			out = append(out, field{kind: str})
		case 'B':
			out = append(out, field{kind: bytes})
		case 's':
			out = append(out, field{kind: compact})
		case 'b':
			out = append(out, field{kind: compactBytes})
		case 'T':
			out = append(out, field{kind: tagged})
		case '[':
			out = append(out, c.array(array))
		case '{':
			out = append(out, c.array(compactArray))
		case '?':
			c.rest = c.rest[1:] // the opening bracket
			out = append(out, field{kind: nullableGroup, fields: c.fields()})
		case ']', '}', ')':
			return out
		}
	}
	return out
}

func (c *compiler) array(kind fieldKind) field {
	size := c.elems[0]
	c.elems = c.elems[1:]
	one := len(c.rest) > 1 && (c.rest[1] == ']' || c.rest[1] == '}')
	f := field{kind: kind, elemSize: size, fields: c.fields()}
	f.scalar = one && f.fields[0].kind == fixed
	return f
}

func appendFixed(out []field, width int) []field {
	if n := len(out); n > 0 && out[n-1].kind == fixed {
		out[n-1].width += width
		return out
	}
	return append(out, field{kind: fixed, width: width})
}

// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package docs

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/iggy-kafka/iggy-kafka/gateway/internal/server"
)

const (
	troubleshooting = "../../../docs/troubleshooting.md"
	// mistakes is what is printed when somebody makes the likely mistakes, held by a test of the command.
	mistakes = "../../cmd/iggy-kafka-gateway/testdata/mistakes.golden"
)

// shortest is how many bytes of a quotation count as its own words.
const shortest = 6

// TestMessages: what the page quotes of the gateway's words, in blocks of the language log, is among what it says to those who
// make a mistake, or at least in its source, an ellipsis being what differs. Blocks behind a comment that says how to have it
// said are left to TestDocuments, in e2e/suite.
func TestMessages(t *testing.T) {
	said, printed := literals(t, "../../../gateway", "../../../bridge", "../../../wire"), read(t, mistakes)
	quotations := 0
	for _, block := range regexp.MustCompile("(?s)\n\n```log\n(.*?)\n```").FindAllStringSubmatch(read(t, troubleshooting), -1) {
		for line := range strings.Lines(block[1]) {
			quotations++
			if wording := regexp.QuoteMeta(strings.TrimSpace(line)); regexp.MustCompile(strings.ReplaceAll(wording, "…", ".*")).MatchString(printed) {
				continue
			}
			own := 0
			for fragment := range strings.SplitSeq(strings.TrimSpace(line), "…") {
				if len(fragment) < shortest {
					continue
				}
				own++
				if !strings.Contains(said, fragment) {
					t.Errorf("the source does not say %q, which is quoted in\n%s", fragment, line)
				}
			}
			if own == 0 {
				t.Errorf("nothing is quoted in\n%s", line)
			}
		}
	}
	if quotations == 0 {
		t.Error("the page quotes nothing")
	}
}

// TestCloseCauses: the page says what each cause means.
func TestCloseCauses(t *testing.T) {
	page := read(t, troubleshooting)
	for cause := server.CloseCause(1); !strings.HasPrefix(cause.String(), "cause_"); cause++ {
		if !strings.Contains(page, "`"+cause.String()+"`") {
			t.Errorf("%s does not explain %v", troubleshooting, cause)
		}
	}
}

// literals returns the texts in the source below the folders, tests aside, one a line. Those that are put together of constants are
// whole.
func literals(t *testing.T, folders ...string) string {
	t.Helper()
	var said strings.Builder
	for _, folder := range folders {
		err := filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
			if err != nil {
				return err
			}
			ast.Inspect(file, func(n ast.Node) bool {
				e, ok := n.(ast.Expr)
				if !ok {
					return true
				}
				text, ok := constant(e)
				if ok {
					said.WriteString(text + "\n")
				}
				return !ok
			})
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return said.String()
}

// constant is the text of a literal or of several that are added.
func constant(e ast.Expr) (string, bool) {
	switch e := e.(type) {
	case *ast.BasicLit:
		if e.Kind != token.STRING {
			return "", false
		}
		text, err := strconv.Unquote(e.Value)
		return text, err == nil
	case *ast.BinaryExpr:
		left, ok1 := constant(e.X)
		right, ok2 := constant(e.Y)
		return left + right, e.Op == token.ADD && ok1 && ok2
	}
	return "", false
}

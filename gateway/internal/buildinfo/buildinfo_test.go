// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package buildinfo

import (
	"runtime"
	"runtime/debug"
	"testing"
)

func TestRead(t *testing.T) {
	for _, tc := range []struct {
		linked, module, revision, modified string
		version, commit                    string
	}{
		{"v0.1.0", "(devel)", "abc", "false", "v0.1.0", "abc"},
		{"", "v0.2.0", "", "", "v0.2.0", "unknown"},
		{"", "(devel)", "abc", "true", "(devel)", "abc-dirty"},
		{"v0.1.0-3-gabc", "v0.1.0", "abc", "true", "v0.1.0-3-gabc", "abc-dirty"},
	} {
		built := &debug.BuildInfo{Main: debug.Module{Version: tc.module}}
		if tc.revision != "" {
			built.Settings = []debug.BuildSetting{{Key: "vcs.modified", Value: tc.modified}, {Key: "vcs.revision", Value: tc.revision}}
		}
		got := Info{Version: tc.linked, Commit: "unknown"}
		got.read(built)
		if want := (Info{Version: tc.version, Commit: tc.commit}); got != want {
			t.Errorf("got %+v, want %+v", got, want)
		}
	}
	got := Read("v1.2.3")
	if got.Version != "v1.2.3" || got.Go != runtime.Version() || got.Platform != runtime.GOOS+"/"+runtime.GOARCH || got.Commit == "" {
		t.Errorf("%+v", got)
	}
	if Read("").Version == "" {
		t.Error("no version")
	}
}

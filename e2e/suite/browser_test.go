// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package suite

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// browser is a headless Chromium with one tab, and what the pages in it complain of.
type browser struct {
	*testing.T
	ctx   context.Context
	shots string // folder of the screenshots
	host  string // the only one that may be asked for something

	mu         sync.Mutex
	complaints []string
}

// newBrowser starts Chromium for the rest of the test. Without one the test is skipped, or fails if REQUIRE_CHROMIUM=true.
func newBrowser(t *testing.T, host string) *browser {
	t.Helper()
	requireTool(t, "chromium")
	// Chromium's sandbox needs more than a container lets it have. All that it shows here is ours.
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath("chromium"), chromedp.NoSandbox, chromedp.WindowSize(1280, 900),
		chromedp.WSURLReadTimeout(2*limit))
	ctx, cancel := chromedp.NewExecAllocator(t.Context(), options...)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewContext(ctx)
	t.Cleanup(cancel)
	b := &browser{T: t, ctx: ctx, host: host, shots: screenshots(t)}
	// Starts it: it lives as long as this context, so only what follows may have a deadline.
	if err := chromedp.Listen(ctx, b.notice); err != nil {
		t.Fatal(err)
	}
	call(b, network.Enable, network.EnableParams{})
	call(b, log.Enable, cdp.Empty{})
	call(b, runtime.Enable, cdp.Empty{})
	return b
}

// screenshots is where they are kept: in the folder that E2E_LOGS names, or beside the binaries.
func screenshots(t *testing.T) string {
	t.Helper()
	dir := filepath.Join("..", "..", "bin", "screenshots")
	if kept := os.Getenv("E2E_LOGS"); kept != "" {
		dir = filepath.Join(kept, "screenshots")
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}

// notice takes in what should not happen: errors, what the policy of a page does not allow, and requests to elsewhere.
func (b *browser) notice(event any) {
	switch e := event.(type) {
	case *runtime.EventExceptionThrown:
		b.complain("exception: %s", e.ExceptionDetails.Text)
	case *runtime.EventConsoleAPICalled:
		b.complain("console: %s %v", e.Type, e.Args)
	case *log.EventEntryAdded:
		b.complain("%s: %s %s", e.Entry.Level, e.Entry.Text, e.Entry.URL)
	case *network.EventRequestWillBeSent:
		if u, err := url.Parse(e.Request.URL); err != nil || u.Host != b.host {
			b.complain("request to %s", e.Request.URL)
		}
	}
}

// part runs a part of the test.
func (b *browser) part(name string, run func()) {
	whole := b.T
	defer func() { b.T = whole }()
	whole.Run(name, func(t *testing.T) {
		b.T = t
		run()
	})
}

func (b *browser) complain(format string, args ...any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.complaints = append(b.complaints, fmt.Sprintf(format, args...))
}

// quiet fails the test if there were complaints, which are forgotten then.
func (b *browser) quiet(where string) {
	b.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, c := range b.complaints {
		b.Errorf("%s: %s", where, c)
	}
	b.complaints = nil
}

// do runs actions, which have to succeed.
func (b *browser) do(actions ...chromedp.Action[chromedp.Void]) {
	b.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, limit)
	defer cancel()
	if err := chromedp.Do(ctx, actions...); err != nil {
		b.Fatal(err)
	}
}

// call sends a command of the DevTools protocol.
func call[P, R any](b *browser, command cdp.Command[P, R], params P) R {
	b.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, limit)
	defer cancel()
	result, err := chromedp.Call(ctx, command, params)
	if err != nil {
		b.Fatalf("%s: %v", command.Method, err)
	}
	return result
}

// eval is what a JavaScript expression comes to.
func eval[T any](b *browser, expression string) T {
	b.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, limit)
	defer cancel()
	out, err := chromedp.Run(ctx, chromedp.Evaluate[T](expression))
	if err != nil {
		b.Fatalf("%s: %v", expression, err)
	}
	return out
}

// await waits until a JavaScript expression is true.
func (b *browser) await(what, expression string) {
	b.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, 2*limit)
	defer cancel()
	poll := chromedp.Poll[chromedp.Void](expression, chromedp.WithPollingInterval(50*time.Millisecond), chromedp.WithPollingTimeout(0))
	if _, err := chromedp.Run(ctx, poll); err != nil {
		b.Fatalf("%s: %v", what, err)
	}
}

// open shows a page.
func (b *browser) open(path string) {
	b.Helper()
	b.do(chromedp.Navigate("http://" + b.host + path))
}

// press presses keys, one after the other.
func (b *browser) press(keys ...string) {
	b.Helper()
	for _, key := range keys {
		b.do(chromedp.KeyEvent(key))
	}
}

// look has pages see what its user prefers, light or dark, and a window so wide.
func (b *browser) look(scheme string, width int64) {
	b.Helper()
	call(b, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
		Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}},
	})
	call(b, emulation.SetDeviceMetricsOverride, emulation.SetDeviceMetricsOverrideParams{
		Width: width, Height: 900, DeviceScaleFactor: 1, Mobile: width < 600,
	})
}

// scripts says whether pages may run scripts.
func (b *browser) scripts(may bool) {
	b.Helper()
	call(b, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: !may})
}

// shoot keeps a picture of the whole page.
func (b *browser) shoot(name string) {
	b.Helper()
	yes := true
	shot := call(b, page.CaptureScreenshot, page.CaptureScreenshotParams{CaptureBeyondViewport: &yes, OptimizeForSpeed: &yes})
	if err := os.WriteFile(filepath.Join(b.shots, name+".png"), shot.Data, 0o644); err != nil {
		b.Fatal(err)
	}
}

// fileName is a path of the page as the name of a file.
func fileName(path string) string {
	name := strings.Trim(strings.NewReplacer("/", "", "?", "-", "=", "-", "&", "-").Replace(path), "-")
	if name == "" {
		return "overview"
	}
	return name
}

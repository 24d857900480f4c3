// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

package suite

import (
	"context"
	"fmt"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/iggy-kafka/iggy-kafka/e2e/clients"
	"github.com/iggy-kafka/iggy-kafka/e2e/harness"
)

// TestStatusPage looks at the gateway's page as somebody with a browser does: in light and in dark, in a wide window and a narrow
// one, with a mouse and without, while records come in, and when the gateway is gone.
func TestStatusPage(t *testing.T) {
	if testing.Short() {
		t.Skip("starts servers: not in short mode")
	}
	requireTool(t, "chromium")
	target := start(t, harness.Kind{Name: "embedded-memory", Start: startInMemory}, builder(t), "IGGY_KAFKA_GROUP_INITIAL_REBALANCE_DELAY_MS=0")
	traffic := newPageTraffic(t, target.Kafka)
	b := newBrowser(t, target.Admin)
	for _, scheme := range []string{"light", "dark"} {
		b.part(scheme, func() {
			b.look(scheme, 1280)
			for _, path := range []string{
				"/", "/topics", "/topic?name=orders", "/groups", "/group?id=billing", "/clients", "/protocol", "/settings", "/settings?changed=only",
			} {
				b.open(path)
				b.testLooks(path, scheme)
				b.shoot(scheme + "-" + fileName(path))
			}
		})
	}
	b.part("narrow", func() {
		b.look("light", 390)
		for _, path := range []string{"/", "/clients", "/group?id=billing"} {
			b.open(path)
			b.testLooks(path, "light")
			b.shoot("narrow-" + fileName(path))
		}
		b.look("light", 1280)
	})
	b.part("keyboard", func() {
		for _, path := range []string{"/", "/group?id=billing", "/settings"} {
			b.testKeyboard(path)
		}
	})
	b.part("live", func() { b.testLive(traffic) })
	b.part("without-script", b.testWithoutScript)
	b.quiet("all pages")
	b.part("gateway-gone", func() { b.testGatewayGone(target) })
}

// startInMemory is the kind of target of that name.
func startInMemory(ctx context.Context, bin harness.Binaries, dir string, settings ...string) (*harness.Target, error) {
	for _, kind := range harness.Kinds() {
		if kind.Name == "embedded-memory" {
			return kind.Start(ctx, bin, dir, settings...)
		}
	}
	return nil, fmt.Errorf("no such kind of target")
}

// testLooks holds what is shown against what everybody can read: in the scheme that was asked for, with enough contrast (WCAG 2.2,
// 1.4.3), with nothing sticking out of the window.
func (b *browser) testLooks(path, scheme string) {
	b.Helper()
	dark := eval[bool](b, `getComputedStyle(document.body).backgroundColor.match(/\d+/g).slice(0, 3).every(c => c < 64)`)
	if dark != (scheme == "dark") {
		b.Errorf("%s: not %s", path, scheme)
	}
	if out := eval[int](b, `document.documentElement.scrollWidth - innerWidth`); out > 0 {
		b.Errorf("%s, %s: %d pixels wider than the window", path, scheme, out)
	}
	for _, faint := range eval[[]string](b, faintText) {
		b.Errorf("%s, %s: %s", path, scheme, faint)
	}
}

// faintText lists the texts whose colour is too close to that behind them.
const faintText = `(() => {
	const parse = c => { const [r, g, b, a = 1] = c.match(/[\d.]+/g).map(Number); return [r, g, b, a]; };
	const luminance = ([r, g, b]) => [r, g, b].map(c => c / 255).map(c => c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4)
		.reduce((sum, c, i) => sum + c * [0.2126, 0.7152, 0.0722][i], 0);
	const behind = e => { for (; e; e = e.parentElement) { const c = parse(getComputedStyle(e).backgroundColor); if (c[3] === 1) return c; } return [255, 255, 255]; };
	const faint = new Set();
	const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
	while (texts.nextNode()) {
		const text = texts.currentNode.textContent.trim(), e = texts.currentNode.parentElement;
		if (!text || !e.checkVisibility() || e.closest("noscript, script")) continue;
		const [a, b] = [luminance(parse(getComputedStyle(e).color)), luminance(behind(e))].sort((a, b) => b - a);
		const contrast = (a + 0.05) / (b + 0.05);
		if (contrast < 4.5) faint.add(text.slice(0, 40) + ": contrast " + contrast.toFixed(2));
	}
	return [...faint];
})()`

// testKeyboard goes through a page with Tab alone: it begins with the link to the content, gets everywhere, in order, and shows
// where it is.
func (b *browser) testKeyboard(path string) {
	b.Helper()
	b.open(path)
	b.press(kb.Tab)
	if got := eval[string](b, `document.activeElement.className`); got != "skip" {
		b.Errorf("%s: begins at %q", path, got)
	}
	if top := eval[float64](b, `document.activeElement.getBoundingClientRect().top`); top < 0 {
		b.Errorf("%s: the first link is not to be seen", path)
	}
	const reachable = `[...document.querySelectorAll("a[href], button, input:not([type=hidden]), summary, [tabindex='0']")].filter(e => e.checkVisibility())`
	all := eval[int](b, reachable+".length")
	for i := range min(all, 40) {
		type place struct {
			At    int
			Shown bool
		}
		got := eval[place](b, `(s => ({At: `+reachable+`.indexOf(document.activeElement), Shown: s.outlineStyle !== "none" && parseFloat(s.outlineWidth) >= 2}))(getComputedStyle(document.activeElement))`)
		if got.At != i {
			b.Fatalf("%s: after %d steps at element %d of %d", path, i, got.At, all)
		}
		if !got.Shown {
			b.Errorf("%s: element %d does not show that it has the focus", path, i)
		}
		b.press(kb.Tab)
	}
	b.open(path)
	b.press(kb.Tab, kb.Enter, kb.Tab)
	if in := eval[bool](b, `document.activeElement.closest("main") !== null`); !in {
		b.Errorf("%s: the first link does not lead to the content", path)
	}
}

// testLive sees a page change by itself, and nothing of what its reader does get lost by it.
func (b *browser) testLive(traffic *pageTraffic) {
	b.Helper()
	b.open("/group?id=billing")
	b.do(chromedp.Click(chromedp.CSS(`summary`), chromedp.NodeVisible), chromedp.SendKeys(chromedp.CSS(`#q`), "half a wo"))
	eval[chromedp.Void](b, `window.mark = "same page"; document.activeElement.mark = "same element"; scrollTo(0, 40)`)
	const lag = `document.querySelectorAll("main .tiles div")[2].textContent`
	before, scrolled := eval[string](b, lag), eval[float64](b, `scrollY`)
	traffic.produce(1000)
	b.await("the lag grows", fmt.Sprintf(`%s !== %q`, lag, before))
	got := eval[string](b, `[window.mark, document.activeElement.mark, document.activeElement.value, document.querySelector("details").open].join(", ")`)
	if want := "same page, same element, half a wo, true"; got != want {
		b.Errorf("after the refresh: %s, want %s", got, want)
	}
	if now := eval[float64](b, `scrollY`); now != scrolled {
		b.Errorf("scrolled to %v, and after the refresh to %v", scrolled, now)
	}

	// A new topic among the rows leaves those that were there what they are, the focused one too.
	b.open("/topics")
	eval[chromedp.Void](b, `document.querySelector("tr[data-key=orders] a").focus(); document.activeElement.mark = "same element"`)
	const live = `document.getElementById("live")`
	eval[chromedp.Void](b, live+`.click()`)
	if on := eval[string](b, live+`.getAttribute("aria-pressed")`); on != "false" {
		b.Errorf("paused, it says %s", on)
	}
	traffic.createTopic("a-new-topic")
	b.await("the gateway knows of the topic", `fetch(location.href).then(r => r.text()).then(t => t.includes("a-new-topic"))`)
	if there := eval[bool](b, `document.querySelector("tr[data-key=a-new-topic]") !== null`); there {
		b.Error("paused, and the page changes")
	}
	eval[chromedp.Void](b, live+`.click()`) // which looks at once
	b.await("a row is added", `document.querySelector("tr[data-key=a-new-topic]") !== null`)
	if got := eval[string](b, `document.activeElement.mark + " " + document.activeElement.textContent`); got != "same element orders" {
		b.Errorf("after a row was added: %s", got)
	}
}

// testWithoutScript has a link where nothing happens by itself.
func (b *browser) testWithoutScript() {
	b.Helper()
	b.scripts(false)
	b.open("/topics?sort=size&order=down")
	b.do(chromedp.Click(chromedp.CSS(`.live a`), chromedp.NodeVisible), chromedp.WaitVisible(chromedp.CSS(`tr[data-key="orders"]`)))
	b.scripts(true)
	b.open("/")
}

// testGatewayGone shows what was known last, and since when it is old.
func (b *browser) testGatewayGone(target *harness.Target) {
	b.Helper()
	b.open("/topics")
	if err := target.Gateway.Stop(b.Context()); err != nil {
		b.Fatal(err)
	}
	target.Gateway = nil                                                                                       // there is nothing left to stop
	eval[chromedp.Void](b, `document.getElementById("live").click(); document.getElementById("live").click()`) // need not wait for its time
	b.await("the gateway's end is told", `!document.getElementById("trouble").hidden`)
	b.shoot("light-gateway-gone")
	if got := eval[string](b, `document.querySelector("main h1").textContent`); got != "Topics" {
		b.Errorf("what was shown is gone: %q", got)
	}
}

// pageTraffic is what there is to see: topics, and a group with a member that has read one half of them.
type pageTraffic struct {
	*testing.T
	franz  clients.Franz
	client *kgo.Client
}

func newPageTraffic(t *testing.T, addr string) *pageTraffic {
	t.Helper()
	p := &pageTraffic{T: t, franz: clients.Franz{Addr: addr}}
	read := []string{"audit-log", "clickstream_raw", "orders", "payments.v2"}
	var err error
	p.client, err = kgo.NewClient(kgo.SeedBrokers(addr), kgo.ClientID("billing-1"), kgo.ConsumerGroup("billing"), kgo.ConsumeTopics(read...),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), kgo.DisableAutoCommit(), kgo.DefaultProduceTopic("orders"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.client.Close)
	for _, topic := range read {
		p.createTopic(topic)
	}
	p.produce(500)
	for n := 0; n < 500; {
		fetches := p.client.PollFetches(within(t, limit))
		if err := fetches.Err(); err != nil {
			t.Fatal(err)
		}
		n += fetches.NumRecords()
	}
	if err := p.client.CommitUncommittedOffsets(within(t, limit)); err != nil {
		t.Fatal(err)
	}
	p.produce(300)
	return p
}

func (p *pageTraffic) createTopic(name string) {
	p.Helper()
	if err := p.franz.CreateTopic(within(p.T, limit), name, 4); err != nil {
		p.Fatal(err)
	}
}

func (p *pageTraffic) produce(n int) {
	p.Helper()
	records := make([]*kgo.Record, n)
	for i := range records {
		records[i] = &kgo.Record{Key: fmt.Append(nil, i), Value: []byte("a value of some length, as records have it")}
	}
	if err := p.client.ProduceSync(within(p.T, limit), records...).FirstErr(); err != nil {
		p.Fatal(err)
	}
}

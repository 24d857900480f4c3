// Copyright The iggy-kafka Authors
// SPDX-License-Identifier: Apache-2.0

// Asks for the page anew every few seconds and changes what has changed. What stays, stays the same element: so the focus, the
// place that was scrolled to, selected text and what was opened or typed in are not lost.
"use strict";
(() => {
  const button = document.getElementById("live");
  const trouble = document.getElementById("trouble");
  const every = Number(document.body.dataset.refresh) * 1000;
  const patience = 4 * every;
  let timer = 0, since = null, asking = false;

  // Whether it is to be live is remembered for the tab, where the browser allows that.
  const store = {
    get off() { try { return sessionStorage.getItem("live") === "off"; } catch { return false; } },
    set off(off) { try { sessionStorage.setItem("live", off ? "off" : "on"); } catch { /* for this page only */ } },
  };

  const keyOf = (node) => node.dataset?.key;

  // morph makes one node like another.
  function morph(from, to) {
    if (from.isEqualNode(to)) return;
    if (from.nodeName !== to.nodeName || from.id !== to.id || keyOf(from) !== keyOf(to)) {
      from.replaceWith(document.importNode(to, true));
      return;
    }
    if (from.nodeType !== Node.ELEMENT_NODE) {
      from.nodeValue = to.nodeValue;
      return;
    }
    for (const name of from.getAttributeNames()) {
      if (!to.hasAttribute(name) && name !== "open") from.removeAttribute(name); // open is the reader's
    }
    for (const name of to.getAttributeNames()) {
      if (from.getAttribute(name) !== to.getAttribute(name)) from.setAttribute(name, to.getAttribute(name));
    }
    morphChildren(from, to);
  }

  // morphChildren finds rows again by their keys, whatever was put before them.
  function morphChildren(parent, to) {
    const known = new Map();
    for (const child of parent.children) if (keyOf(child) !== undefined) known.set(keyOf(child), child);
    let at = parent.firstChild;
    for (const next of to.childNodes) {
      const same = known.get(keyOf(next));
      if (same && same !== at) {
        // Those between are gone, or come later. What is moved loses the focus, so it is they who are moved or taken away.
        const wanted = new Set([...to.children].map(keyOf));
        while (at && at !== same && !wanted.has(keyOf(at))) at = remove(at);
        if (at !== same) parent.insertBefore(same, at);
      } else if (!same && keyOf(next) !== undefined) {
        parent.insertBefore(document.importNode(next, true), at);
        continue;
      } else if (!same && at && known.has(keyOf(at)) || !at) {
        parent.insertBefore(document.importNode(next, true), at);
        continue;
      }
      const current = same ?? at;
      at = current.nextSibling;
      morph(current, next);
    }
    while (at) at = remove(at);
  }

  function remove(node) {
    const next = node.nextSibling;
    node.remove();
    return next;
  }

  async function look() {
    if (asking || document.hidden) return;
    asking = true;
    let problem = "";
    try {
      const response = await fetch(location.href, { cache: "no-store", redirect: "error", signal: AbortSignal.timeout(patience) });
      const page = new DOMParser().parseFromString(await response.text(), "text/html");
      if (store.off) return; // meanwhile
      if (response.ok) {
        for (const part of document.querySelectorAll("[data-live]")) {
          const next = page.getElementById(part.id);
          if (next) morph(part, next);
        }
        document.title = page.title;
      } else {
        problem = page.querySelector("h1")?.textContent ?? "The gateway answers " + response.status;
      }
    } catch {
      problem = "The gateway does not answer";
    } finally {
      asking = false;
    }
    tell(problem);
  }

  // tell says since when what is shown is not of now.
  function tell(problem) {
    since = problem ? since ?? new Date() : null;
    const text = problem && `${problem}, since ${since.toISOString().slice(11, 19)} UTC. What is shown here is older.`;
    if (trouble.textContent !== text) trouble.textContent = text;
    trouble.hidden = !problem;
    document.body.toggleAttribute("data-stale", Boolean(problem));
  }

  function start() {
    clearInterval(timer);
    const on = !store.off;
    button.setAttribute("aria-pressed", String(on));
    if (on) timer = setInterval(look, every);
  }

  button.hidden = false;
  button.addEventListener("click", () => {
    store.off = !store.off;
    start();
    if (store.off) tell(""); else look();
  });
  document.addEventListener("visibilitychange", () => { if (!document.hidden && !store.off) look(); });
  start();
})();

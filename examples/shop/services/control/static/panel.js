// Redraws the panel each second, and turns switches without leaving the page.
// Without this file the forms work all the same, and the page is reloaded by hand.
"use strict";

const EVERY_MS = 1000;
const PATIENCE_MS = 5000;

let latest = 0;
// Nothing is looked up while a change is on its way: its answer is the latest, and its notices come only once.
let changing = 0;

// The page as the answer to a request, or null if a later request has been made meanwhile.
async function fetchPage(path, options) {
  const mine = ++latest;
  const response = await fetch(path, { ...options, signal: AbortSignal.timeout(PATIENCE_MS) });
  const page = new DOMParser().parseFromString(await response.text(), "text/html");
  if (mine !== latest) return null;
  if (!page.getElementById("panel")) throw new Error("no panel");
  return page;
}

// Only what differs is exchanged, so that nothing moves under a finger or a reader's cursor.
function show(page, { withNotices }) {
  const focused = document.activeElement?.id;
  for (const part of document.querySelectorAll("[data-part]")) {
    const fresh = page.getElementById(part.id);
    if (part.id === "notices" && !withNotices) continue;
    if (fresh === null || part.isEqualNode(fresh)) continue;
    if (fresh.dataset.state) part.dataset.state = fresh.dataset.state;
    part.replaceChildren(...fresh.childNodes);
  }
  if (focused && document.activeElement?.id !== focused) document.getElementById(focused)?.focus();
}

function pulse(isAlive) {
  const line = document.getElementById("pulse");
  line.hidden = false;
  line.dataset.alive = String(isAlive);
  const words = isAlive ? "live" : "this panel does not answer";
  if (line.textContent !== words) line.textContent = words;
}

async function refresh(path, options, withNotices) {
  try {
    const page = await fetchPage(path, options);
    if (page !== null) show(page, { withNotices });
    pulse(true);
  } catch {
    pulse(false);
  }
}

async function submit(event) {
  event.preventDefault();
  const form = event.target;
  changing += 1;
  await refresh(form.action, { method: "POST", body: new URLSearchParams(new FormData(form)) }, true);
  changing -= 1;
}

async function live() {
  if (!document.hidden && !changing) await refresh("/", {}, false);
  setTimeout(live, EVERY_MS);
}

document.addEventListener("submit", submit);
live();

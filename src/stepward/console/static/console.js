// Live parts and keys. Without this script every page works, and shows what was so when it was loaded.
(() => {
  "use strict";
  const RECONNECT = 5000;
  // A page spends about a fiftieth of the time on being redrawn, and follows a busy store within seconds.
  const SHARE = 50;
  const LONGEST_PAUSE = 5000;
  const pulse = document.getElementById("pulse");
  const skew = Number(document.body.dataset.now) - Date.now() / 1000;
  let source = null;
  let timer = 0;
  let mayAt = 0;

  // Times: by the store's clock, so that a browser whose clock is wrong shows no nonsense.
  const UNITS = [[31536000, "y"], [86400, "d"], [3600, "h"], [60, "m"], [1, "s"]];
  function span(seconds) {
    for (const [size, unit] of UNITS) if (seconds >= size) return `${Math.floor(seconds / size)}${unit}`;
    return "0s";
  }
  function tick() {
    const now = Date.now() / 1000 + skew;
    for (const time of document.querySelectorAll("time[data-at]")) {
      const away = Number(time.dataset.at) - now;
      const text = away > 0 ? `in ${span(away)}` : `${span(-away)} ago`;
      if (time.textContent !== text) time.textContent = text;
    }
    for (const time of document.querySelectorAll("time[data-since]")) {
      const text = span(Math.max(0, now - Number(time.dataset.since)));
      if (time.textContent !== text) time.textContent = text;
    }
  }

  // Live: parts are exchanged in place, unless the focus is in one of them; new rows wait until they are asked for.
  function refreshSoon() {
    if (timer) return;
    timer = setTimeout(() => {
      timer = 0;
      const began = performance.now();
      refresh().catch(() => say("lost", "lost")).finally(() => { mayAt = performance.now() + Math.min(LONGEST_PAUSE, SHARE * (performance.now() - began)); });
    }, Math.max(0, mayAt - performance.now()));
  }
  async function refresh() {
    // The answer to a form is not at its address.
    if ("still" in document.body.dataset) return;
    const answer = await fetch(location.href, { headers: { accept: "text/html" }, credentials: "same-origin" });
    if (!answer.ok) return;
    const fresh = new DOMParser().parseFromString(await answer.text(), "text/html");
    for (const part of document.querySelectorAll("[data-part]")) exchange(part, fresh.getElementById(part.id));
    for (const table of document.querySelectorAll("[data-rows]")) merge(table, fresh.getElementById(table.id));
    const menu = document.getElementById("menu");
    exchange(menu, fresh.getElementById("menu"));
    tick();
  }
  function busy(part) {
    return part.contains(document.activeElement) || part.querySelector("tr:hover, form:hover, [open]") !== null;
  }
  function exchange(part, fresh) {
    if (!part || !fresh || busy(part) || part.innerHTML === fresh.innerHTML) return;
    part.className = fresh.className;
    part.replaceChildren(...fresh.childNodes);
    part.dispatchEvent(new Event("exchanged"));
  }
  function merge(table, fresh) {
    if (!fresh) return;
    const known = new Map([...table.tBodies[0].rows].map((row) => [row.dataset.key, row]));
    let added = 0;
    for (const row of fresh.tBodies[0].rows) {
      const old = known.get(row.dataset.key);
      if (!old) { added += 1; continue; }
      [...row.cells].forEach((cell, at) => {
        const place = old.cells[at];
        if (place && !place.classList.contains("pick") && !place.contains(document.activeElement) && place.innerHTML !== cell.innerHTML) place.replaceChildren(...cell.childNodes);
      });
    }
    if (table.dataset.rows === "new") offer(table, added);
  }
  function offer(table, added) {
    let button = document.getElementById("new-rows");
    if (!added) { if (button) button.remove(); return; }
    if (!button) {
      button = document.createElement("button");
      button.id = "new-rows";
      button.type = "button";
      button.className = "button new-rows";
      button.addEventListener("click", () => location.reload());
      table.closest(".scroll").before(button);
    }
    button.textContent = `${added} new`;
  }
  // A hidden page holds no stream: a browser has few connections to a server, and its tabs share them.
  function listen() {
    if (document.hidden || source) return;
    source = new EventSource(document.body.dataset.live);
    source.addEventListener("hello", () => say("live", "live"));
    source.addEventListener("changed", refreshSoon);
    source.onerror = () => {
      say("lost", "not live");
      if (source && source.readyState === EventSource.CLOSED) { source = null; setTimeout(listen, RECONNECT); }
    };
  }
  function seen() {
    if (document.hidden) {
      if (source) source.close();
      source = null;
    } else {
      refreshSoon();
      listen();
    }
  }
  function say(state, word) {
    if (pulse.dataset.state === state) return;
    pulse.dataset.state = state;
    pulse.querySelector(".pulse-word").textContent = word;
  }

  // Keys: rows are walked with j and k, as lists of mail are.
  const PAGES = { n: "/", t: "/tasks", a: "/agents", l: "/alerts" };
  let going = false;
  function rows() { return [...document.querySelectorAll("table.rows tbody tr, table.timeline tbody tr")].filter((row) => row.querySelector("a")); }
  function walk(by) {
    const all = rows();
    if (!all.length) return;
    const at = all.findIndex((row) => row.classList.contains("here"));
    const next = all[Math.min(all.length - 1, Math.max(0, at < 0 ? 0 : at + by))];
    all.forEach((row) => row.classList.toggle("here", row === next));
    next.querySelector("a").focus();
    next.scrollIntoView({ block: "nearest" });
  }
  function keys(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input, textarea, select, dialog")) return;
    const root = document.body.dataset.root;
    if (going) {
      going = false;
      if (PAGES[event.key]) { location.href = root + PAGES[event.key]; event.preventDefault(); }
      return;
    }
    const acts = { j: () => walk(1), k: () => walk(-1), "/": () => document.getElementById("search").focus(), "?": () => document.getElementById("keys").showModal(), g: () => { going = true; }, f: () => { const field = document.getElementById("filter"); if (field) field.focus(); } };
    if (acts[event.key]) { acts[event.key](); event.preventDefault(); }
  }

  // A timeline is enlarged by dragging over it; the part stands in the address.
  function zoomable() {
    const table = document.querySelector("table.timeline[data-zoom]");
    if (!table) return;
    let box = null;
    let began = 0;
    const place = (event) => {
      const track = table.querySelector("thead .tl-track").getBoundingClientRect();
      return { part: Math.min(1, Math.max(0, (event.clientX - track.left) / track.width)), track };
    };
    table.addEventListener("pointerdown", (event) => {
      if (event.button || !event.target.closest("td.tl-track")) return;
      began = place(event).part;
      box = document.createElement("div");
      box.className = "zoom-box";
      table.parentElement.append(box);
      table.parentElement.classList.add("zooming");
      event.preventDefault();
    });
    addEventListener("pointermove", (event) => {
      if (!box) return;
      const { part, track } = place(event);
      const outer = table.parentElement.getBoundingClientRect();
      box.style.left = `${track.left - outer.left + Math.min(began, part) * track.width}px`;
      box.style.width = `${Math.abs(part - began) * track.width}px`;
    });
    addEventListener("pointerup", (event) => {
      if (!box) return;
      const { part } = place(event);
      box.remove();
      box = null;
      if (Math.abs(part - began) < 0.01) return;
      const start = Number(table.dataset.start);
      const all = Number(table.dataset.end) - start;
      const asked = new URLSearchParams(location.search);
      asked.set("from", (start + Math.min(began, part) * all).toFixed(3));
      asked.set("to", (start + Math.max(began, part) * all).toFixed(3));
      asked.delete("done");
      location.assign(`?${asked}#timeline`);
    });
  }

  // Filters that an operator has named, in this browser alone.
  const MOST_FILTERS = 20;
  function savedFilters(list) {
    const key = `stepward-filters ${document.body.dataset.root} ${list.dataset.app}`;
    const form = document.getElementById("save-filter");
    const read = () => { try { const found = JSON.parse(localStorage.getItem(key)); return Array.isArray(found) ? found.slice(0, MOST_FILTERS) : []; } catch { return []; } };
    const write = (filters) => { localStorage.setItem(key, JSON.stringify(filters)); draw(); };
    function draw() {
      const filters = read();
      list.querySelectorAll("li.saved").forEach((each) => each.remove());
      for (const { name, where } of filters) {
        const item = document.createElement("li");
        const link = document.createElement("a");
        const forget = document.createElement("button");
        item.className = "saved";
        link.className = "chip";
        link.href = `${document.body.dataset.root}/tasks?where=${encodeURIComponent(where)}`;
        link.textContent = name;
        if (where === list.dataset.where) link.setAttribute("aria-current", "true");
        forget.type = "button";
        forget.className = "forget";
        forget.textContent = "×";
        forget.setAttribute("aria-label", `Forget the filter ${name}`);
        forget.addEventListener("click", () => write(read().filter((each) => each.name !== name)));
        item.append(link, forget);
        list.append(item);
      }
      form.hidden = !list.dataset.where || filters.length >= MOST_FILTERS || filters.some((each) => each.where === list.dataset.where);
    }
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      const name = document.getElementById("filter-name").value.trim();
      if (name) write([...read().filter((each) => each.name !== name), { name, where: list.dataset.where }]);
    });
    draw();
  }

  // The filter is completed with fields, and behind a field and a comparison with its known values.
  const MOST_COMPLETIONS = 8;
  function completing(field) {
    const list = document.getElementById("completions");
    const known = JSON.parse(field.dataset.words);
    let at = -1;
    const options = () => [...list.children];
    function found() {
      const before = field.value.slice(0, field.selectionStart);
      const value = /([\w.]+)\s*(?:=|!=|(?:not )?in \((?:[^()]*,)?)\s*'([^']*)$/.exec(before);
      if (value) return { typed: value[2], words: known.values[value[1]] || [], end: "'" };
      if ((before.match(/'/g) || []).length % 2) return { typed: "", words: [], end: "" };
      const typed = /(?:^|[\s(])([a-z][\w.]*)$/.exec(before);
      return { typed: typed ? typed[1] : "", words: typed ? known.fields : [], end: "" };
    }
    function close() { list.hidden = true; list.replaceChildren(); at = -1; field.removeAttribute("aria-activedescendant"); }
    function mark(next) {
      at = next;
      options().forEach((option, place) => option.setAttribute("aria-selected", String(place === at)));
      if (at >= 0) field.setAttribute("aria-activedescendant", options()[at].id);
    }
    function take(word) {
      const { typed, end } = found();
      const start = field.selectionStart - typed.length;
      const rest = field.value.slice(field.selectionStart);
      const added = word + (rest.startsWith(end) ? "" : end);
      field.value = field.value.slice(0, start) + added + rest;
      field.setSelectionRange(start + added.length, start + added.length);
      close();
      field.focus();
    }
    function offer() {
      const { typed, words } = found();
      const fitting = words.filter((word) => word.startsWith(typed) && word !== typed).slice(0, MOST_COMPLETIONS);
      close();
      if (!fitting.length) return;
      list.replaceChildren(...fitting.map((word, place) => {
        const option = document.createElement("li");
        option.id = `completion-${place}`;
        option.setAttribute("role", "option");
        option.setAttribute("aria-selected", "false");
        option.textContent = word;
        option.addEventListener("mousedown", (event) => { event.preventDefault(); take(word); });
        return option;
      }));
      list.hidden = false;
    }
    field.addEventListener("input", offer);
    field.addEventListener("blur", close);
    field.addEventListener("keydown", (event) => {
      if (list.hidden) return;
      const last = options().length - 1;
      if (event.key === "ArrowDown") mark(at < last ? at + 1 : 0);
      else if (event.key === "ArrowUp") mark(at > 0 ? at - 1 : last);
      else if (event.key === "Escape") close();
      else if ((event.key === "Enter" && at >= 0) || event.key === "Tab") take(options()[Math.max(0, at)].textContent);
      else return;
      event.preventDefault();
    });
  }

  function copying(event) {
    const command = event.target.closest("[data-copy]");
    if (!command || !navigator.clipboard) return;
    const text = command.textContent;
    navigator.clipboard.writeText(text).then(() => { command.textContent = "copied"; setTimeout(() => { command.textContent = text; }, 1200); });
  }

  if (!document.body.dataset.live) return;
  document.addEventListener("keydown", keys);
  document.addEventListener("click", copying);
  document.addEventListener("visibilitychange", seen);
  setInterval(tick, 1000);
  zoomable();
  const filter = document.getElementById("filter");
  if (filter) completing(filter);
  const filters = document.getElementById("filters");
  if (filters) savedFilters(filters);
  listen();
})();

// Keeps the status of an order up to date while its page is looked at; stops when nothing more will happen.
(() => {
  "use strict";
  const FIRST_PAUSE = 1000;
  const LONGEST_PAUSE = 30000;
  const region = document.getElementById("status");
  let source = null;
  let again = 0;
  let pause = FIRST_PAUSE;
  let seen = region.dataset.sequence;

  function open() {
    source = new EventSource(`${region.dataset.live}?after=${seen}`);
    source.addEventListener("status", show);
    source.addEventListener("end", finish);
    source.onerror = lost;
  }

  function show(event) {
    seen = event.lastEventId;
    pause = FIRST_PAUSE;
    swap(event.data);
  }

  // Only what differs is replaced, so that a screen reader says what is new and nothing else.
  function swap(html) {
    const fresh = document.createElement("template");
    fresh.innerHTML = html;
    const parts = fresh.content.querySelectorAll("[data-part]");
    region.querySelectorAll("[data-part]").forEach((part, at) => {
      if (part.outerHTML !== parts[at].outerHTML) part.replaceWith(parts[at]);
    });
  }

  // A browser reconnects by itself after a broken connection, but not after an answer that is an error.
  function lost() {
    if (source.readyState !== EventSource.CLOSED) return;
    again = setTimeout(open, pause);
    pause = Math.min(pause * 2, LONGEST_PAUSE);
  }

  function close() {
    clearTimeout(again);
    source.close();
  }

  function finish() {
    close();
    document.removeEventListener("visibilitychange", look);
  }

  // A page that nobody sees holds no connection: a browser has only a few for each site.
  function look() {
    close();
    if (!document.hidden) open();
  }

  document.addEventListener("visibilitychange", look);
  open();
})();

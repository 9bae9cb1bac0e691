"use strict";

// The pages work without this: it keeps words beside the slider, says that a search runs, and
// listens to a few keys.

// A query that came with an address, as from the browser's search bar, need not stay in it.
if (location.pathname === "/search" && location.search) {
  history.replaceState(null, "", "/search");
}

const slider = document.getElementById("stop");
const stops = document.querySelectorAll(".stop");

function show() {
  for (const stop of stops) {
    stop.hidden = stop.dataset.stop !== slider.value;
    if (!stop.hidden) slider.setAttribute("aria-valuetext", stop.dataset.spoken);
  }
}

if (slider) {
  slider.addEventListener("input", show);
  addEventListener("pageshow", show); // a browser may bring back an older place of the slider
}

for (const form of document.querySelectorAll("form[action='/search']")) {
  const button = form.querySelector("button");
  const working = document.querySelector(".working");
  form.addEventListener("submit", (event) => {
    if (button.disabled) {
      event.preventDefault();
      return;
    }
    button.disabled = true;
    const now = document.querySelector(".stop:not([hidden])");
    const plain = form.elements.plain;
    if (working) {
      working.textContent = plain || !now
        ? "Searching …"
        : `Searching: ${now.dataset.size} variants are drawn, checked and sent …`;
    }
  });
  addEventListener("pageshow", () => {
    button.disabled = false;
    if (working) working.textContent = "";
  });
}

function step(by) {
  const results = [...document.querySelectorAll(".results li")];
  const at = results.findIndex((one) => one.contains(document.activeElement));
  const next = results[Math.min(results.length - 1, Math.max(0, at + by))];
  if (!next) return;
  const target = next.querySelector("a") || next;
  if (target === next) next.tabIndex = -1;
  target.focus();
}

const KEYS = {
  "/": () => document.getElementById("q")?.select(),
  j: () => step(1),
  k: () => step(-1),
};

document.addEventListener("keydown", (event) => {
  const typing = event.target.closest("input, select, textarea");
  if (event.key === "Escape" && event.target.id === "q") event.target.blur();
  if (typing || event.ctrlKey || event.metaKey || event.altKey || !KEYS[event.key]) return;
  event.preventDefault();
  KEYS[event.key]();
});

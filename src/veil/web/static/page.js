"use strict";

// The pages work without this script: it updates the text next to the slider, shows that a search
// is running, and handles a few keys.

// Remove a query from the address, such as one from the browser's search bar.
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
  addEventListener("pageshow", show); // a browser may restore an older position of the slider
}

// Going back restores words typed later; the results belong to the earlier ones.
addEventListener("pageshow", () => {
  const box = document.querySelector("main.answer input[type='search']");
  if (box) box.value = box.defaultValue;
});

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
    const demo = event.submitter && event.submitter.name === "demo";
    const plain = form.elements.plain || ("here" in form.dataset && !demo);
    if (working) {
      working.textContent = plain || !now
        ? "Searching …"
        : `Searching with ${now.dataset.size} variants …`;
    }
  });
  addEventListener("pageshow", () => {
    button.disabled = false;
    if (working) working.textContent = "";
  });
}

const box = document.getElementById("q");
const results = [...document.querySelectorAll(".results li")].map((one) => {
  const link = one.querySelector("a");
  if (!link) one.tabIndex = -1;
  return link || one;
});
const BY = { ArrowDown: 1, ArrowUp: -1 };

// The arrow keys move from the search form to the results and between them; elsewhere they scroll.
function step(event) {
  const shown = results.filter((one) => one.getClientRects().length);
  const at = shown.indexOf(document.activeElement);
  const target = at + BY[event.key] < 0 ? box : shown[at + BY[event.key]];
  if ((at < 0 && event.target !== box) || !target) return;
  event.preventDefault();
  target.focus();
}

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
  if (event.key === "Escape" && event.target === box) box.blur();
  if (event.key in BY && !event.shiftKey) step(event);
  if (event.key === "/" && box && !event.target.closest("input, select, textarea")) {
    event.preventDefault();
    box.focus();
    box.select();
  }
});

"use strict";

// The planes are readable without this script; it shows one at a time, and lets the keyboard move
// from point to point. It runs before the script of the drawings, which removes the titles.

(() => {
  const planes = document.querySelector(".planes");
  const choice = document.querySelector(".choice");
  const select = document.getElementById("plot");
  const panels = [...planes.querySelectorAll(".panel")];

  function show() {
    const all = select.value === "all";
    planes.classList.toggle("one", !all);
    panels.forEach((panel, i) => { panel.hidden = !all && String(i) !== select.value; });
    for (const group of planes.querySelectorAll(".panels")) {
      const empty = !group.querySelector(".panel:not([hidden])");
      for (const part of [group.previousElementSibling, group, group.nextElementSibling]) {
        part.hidden = empty;
      }
    }
  }

  function point(event, kind) {
    const box = event.currentTarget.querySelector(".mark").getBoundingClientRect();
    event.currentTarget.dispatchEvent(
      new PointerEvent(kind, { clientX: box.right, clientY: box.bottom }));
  }

  function use(spot) {
    if (spot.dataset.stop !== undefined) location.assign(`/?stop=${spot.dataset.stop}`);
  }

  function seen(spot) {
    return !spot.closest(".hidden") && (spot.dataset.stop !== undefined || !spot.closest(".rest"));
  }

  // The tab key reaches one point of each plane; the arrow keys move on from there.
  function move(spots, from, by) {
    const shown = spots.filter(seen);
    const next = shown[(shown.indexOf(from) + by + shown.length) % shown.length];
    if (!next) return;
    from.setAttribute("tabindex", "-1");
    next.setAttribute("tabindex", "0");
    next.focus();
  }

  const BY = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 };

  for (const panel of panels) {
    const spots = [...panel.querySelectorAll(".point")];
    panel.querySelector("svg").setAttribute("role", "group");
    const now = spots.find((spot) => spot.dataset.stop === planes.dataset.now);
    for (const spot of spots) {
      const stop = spot.dataset.stop !== undefined;
      const words = spot.querySelector("title");
      if (stop) words.textContent += `\nsetting ${Number(spot.dataset.stop) + 1} of the slider`;
      if (stop) words.textContent += spot === now ? ", selected" : ": press Enter to use it";
      spot.classList.toggle("chosen", spot === now);
      spot.setAttribute("role", stop ? "link" : "img");
      spot.setAttribute("aria-label", words.textContent);
      spot.setAttribute("tabindex", spot === (now || spots.find(seen)) ? "0" : "-1");
      spot.addEventListener("focus", (event) => point(event, "pointerenter"));
      spot.addEventListener("blur", (event) => point(event, "pointerleave"));
      spot.addEventListener("click", () => use(spot));
      spot.addEventListener("keydown", (event) => {
        if (event.key === "Enter") use(spot);
        if (event.key === "Escape") spot.blur();
        if (!(event.key in BY)) return;
        event.preventDefault();
        move(spots, spot, BY[event.key]);
      });
    }
  }

  choice.hidden = panels.length < 2;
  select.addEventListener("change", show);
  show();
})();

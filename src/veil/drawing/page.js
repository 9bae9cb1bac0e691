"use strict";
const tip = document.body.appendChild(document.createElement("div"));
tip.id = "tip";
tip.hidden = true;
for (const point of document.querySelectorAll(".point")) {
  const title = point.querySelector("title");
  const words = title.textContent;
  title.remove();
  point.addEventListener("pointerenter", (event) => {
    tip.textContent = words;
    tip.hidden = false;
    const right = innerWidth - tip.offsetWidth - 8;
    tip.style.left = Math.max(0, Math.min(event.clientX + 14, right)) + "px";
    tip.style.top = Math.min(event.clientY + 14, innerHeight - tip.offsetHeight - 8) + "px";
  });
  point.addEventListener("pointerleave", () => { tip.hidden = true; });
}
function added(place) {
  const button = document.createElement("button");
  button.type = "button";
  place.append(button);
  return button;
}
function press(item, button, shown) {
  button.setAttribute("aria-pressed", String(shown));
  const whole = item.closest("section,.planes") || document;
  for (const curve of whole.querySelectorAll("svg .curve")) {
    if (curve.dataset.curve !== item.dataset.curve || curve.closest(".legend")) continue;
    curve.classList.toggle("hidden", !shown);
    curve.classList.remove("rest");
  }
}
for (const item of document.querySelectorAll(".legend li")) {
  const content = [...item.childNodes];
  const button = added(item);
  button.append(...content);
  button.setAttribute("aria-pressed", String(!item.classList.contains("rest")));
  button.addEventListener("click", () => {
    press(item, button, button.getAttribute("aria-pressed") !== "true");
  });
}
for (const more of document.querySelectorAll(".legend details")) {
  const all = added(more);
  const items = [...more.querySelectorAll("li")];
  all.textContent = "Draw all of them";
  all.addEventListener("click", () => {
    const shown = items.some((item) => item.querySelector("[aria-pressed=false]"));
    for (const item of items) press(item, item.firstChild, shown);
    all.textContent = shown ? "Hide all of them" : "Draw all of them";
  });
}

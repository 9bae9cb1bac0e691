"""The page's style sheet and its few lines of script; both optional to the reader."""

COLOURS = """
:root{color-scheme:light dark;--ground:#fff;--ink:#1b1f24;--soft:#57606a;--rule:#d0d7de;
--wash:#f6f8fa;--gain:#eef6f1;--mark:#fff1c2;--c0:#00497f;--c1:#b54900;--c2:#007a5a;--c3:#a8447d;
--c4:#8a6100;--c5:#1a73aa;--c6:#4b4b4b;--c7:#6b3fa0}
@media (prefers-color-scheme:dark){:root{--ground:#14181d;--ink:#e6e9ed;--soft:#a3adb8;
--rule:#3a424c;--wash:#1c2229;--gain:#182822;--mark:#4d3f10;--c0:#4a9fe8;--c1:#ff9a5c;--c2:#3fcfa0;
--c3:#ec94c6;--c4:#e6b93d;--c5:#a8e0ff;--c6:#d0d0d0;--c7:#bda1f5}}
"""

_PAGE = """\
*{box-sizing:border-box}
html{background:var(--ground);color:var(--ink);font:16px/1.5 system-ui,sans-serif}
body{margin:0 auto;max-width:76rem;padding:1rem 1.25rem 4rem}
h1,h2,h3{line-height:1.25;overflow-wrap:anywhere}
h1{font-size:1.7rem;margin:.5rem 0}
h2{font-size:1.3rem;margin:2.5rem 0 .5rem;padding-top:.6rem;border-top:1px solid var(--rule)}
h3{font-size:1.05rem;margin:1.5rem 0 .4rem}
p,li{max-width:46rem;overflow-wrap:anywhere}
a{color:var(--c0)}
nav ul{display:flex;flex-wrap:wrap;gap:.2rem 1.1rem;list-style:none;padding:0;margin:.5rem 0}
small,caption,figcaption,.hint{color:var(--soft);font-size:.85rem}
.summary{background:var(--wash);border-left:4px solid var(--c0);padding:.4rem 1rem;margin:1rem 0}
"""

PANELS = """\
.panels{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(16.5rem,100%),1fr));gap:1rem;
align-items:end}
.panel{margin:0;min-width:0;max-width:30rem;break-inside:avoid}
.panel svg{display:block;width:100%;height:auto}
figcaption{min-height:2.6em;overflow-wrap:anywhere}figcaption strong{color:var(--ink)}
.legend ul{display:flex;flex-wrap:wrap;gap:.2rem .5rem;list-style:none;padding:0;margin:.5rem 0}
.legend li,.legend button{display:flex;align-items:center;gap:.35rem;overflow-wrap:anywhere}
.legend button{font:inherit;color:inherit;background:none;border:1px solid var(--rule);
border-radius:1rem;padding:.1rem .6rem;cursor:pointer;text-align:left}
.legend button[aria-pressed=false]{opacity:.6;text-decoration:line-through}
.legend .rest button[aria-pressed=false]{opacity:.8;text-decoration:none}
.legend details{font-size:.9rem}.legend summary{cursor:pointer}
.legend svg{flex:none;width:26px;height:14px}
"""

TABLES = """\
.scroll{overflow-x:auto;max-width:100%;margin:.6rem 0}
table{border-collapse:collapse;font-size:.88rem;font-variant-numeric:tabular-nums}
caption{text-align:left;padding:.2rem 0}
th,td{padding:.25rem .65rem;border-bottom:1px solid var(--rule);text-align:left;vertical-align:top}
th{font-weight:500}thead th{font-weight:600;border-bottom:2px solid var(--rule)}
tbody th{overflow-wrap:anywhere;min-width:14.5rem;max-width:22rem}
tbody th[scope=rowgroup]{min-width:8rem}
td{white-space:nowrap}td div,td code{white-space:normal;overflow-wrap:anywhere}
td strong{font-weight:800}.score small{display:block}
"""

_TEXTS = """\
mark{background:var(--mark);color:inherit;text-decoration:underline;text-underline-offset:2px}
code,pre{font:.85rem/1.5 ui-monospace,monospace;white-space:pre-wrap;overflow-wrap:anywhere}
pre{background:var(--wash);padding:.7rem 1rem}
summary{cursor:pointer;padding:.3rem 0;overflow-wrap:anywhere}
.cards{columns:2 30rem;column-gap:2rem}
.card{break-inside:avoid;padding-top:1rem}.card h3{margin-top:0}.card td{white-space:normal}
"""

MARKS = """\
svg text{font:11px system-ui,sans-serif;fill:var(--soft)}
svg .axis{font-size:12px}svg .value{font-size:9px}svg .named{font-style:italic}
svg .level{font-size:10px}
svg .value,svg .level,svg .named{paint-order:stroke;stroke:var(--ground);stroke-width:2.5px;
stroke-linejoin:round}
.frame{fill:none;stroke:var(--rule)}.grid{stroke:var(--rule);stroke-width:.5;fill:none}
.gain{fill:var(--gain)}.diagonal{stroke:var(--soft);stroke-dasharray:5 4;fill:none}
.corner{fill:var(--ground);stroke:var(--soft)}
.chance{stroke:var(--ink);stroke-dasharray:1 3;fill:none}
.plain{stroke:var(--ink);stroke-width:.8;stroke-dasharray:9 3;fill:none}
.curve .line{fill:none;stroke:currentColor;stroke-width:1.6}
.dashed .line{stroke-dasharray:6 3}
.curve .mark{fill:currentColor;stroke:var(--ground);stroke-width:.8}
.curve .bars{stroke:currentColor;stroke-width:1;opacity:.45;fill:none}
.curve .value{fill:currentColor}
.point:hover .bars{opacity:1;stroke-width:2}.hidden{display:none}
.curve.rest :is(.line,.bars,.value,.point:not([data-stop])){display:none}
.c0{color:var(--c0)}.c1{color:var(--c1)}.c2{color:var(--c2)}.c3{color:var(--c3)}.c4{color:var(--c4)}
.c5{color:var(--c5)}.c6{color:var(--c6)}.c7{color:var(--c7)}
#tip{position:fixed;z-index:1;max-width:22rem;background:var(--ink);color:var(--ground);
font-size:.8rem;padding:.3rem .6rem;border-radius:.3rem;white-space:pre-line;pointer-events:none;
overflow-wrap:anywhere}
"""

_PAPER = """\
@media (max-width:40rem){th,td{padding:.25rem .4rem}tbody th{min-width:7.5rem}
tbody th[scope=rowgroup]{min-width:0;max-width:6rem;overflow-wrap:normal}}
@media print{.scroll{overflow:visible}nav,#tip{display:none}body{max-width:none;padding:0}
.panels{grid-template-columns:1fr 1fr}.cards{columns:1}td{white-space:normal}}
"""

STYLE = COLOURS + _PAGE + PANELS + TABLES + _TEXTS + MARKS + _PAPER

SCRIPT = """
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
"""

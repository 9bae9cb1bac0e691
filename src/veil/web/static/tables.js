"use strict";

// A file is read here, measured and protected by the server of this page, and drawn.
// The download is what was measured and drawn: all of it comes from the same answer.

(() => {
  const at = (name) => document.getElementById(`tables-${name}`);
  const largest = 900000; // characters
  const words = {
    qi: "known", confidential: "confidential", identifier: "identifier", weight: "weight",
    other: "other",
  };
  let text = null;
  let roles = null; // by column; null: as proposed
  let stops = [];
  let turn = 0; // answers to older requests are ignored

  function say(sentence) { at("told").textContent = sentence; }

  function element(name, content, more = {}) {
    const made = document.createElement(name);
    made.append(...[content].flat());
    return Object.assign(made, more);
  }

  async function ask(path, body) {
    const answer = await fetch(path, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ text, roles, ...body }),
    });
    const found = await answer.json();
    if (!answer.ok) throw new Error(found.error);
    return found;
  }

  function draw(place, ...drawings) {
    place.replaceChildren(...drawings.filter(Boolean).map((svg) => document.importNode(
      new DOMParser().parseFromString(svg, "image/svg+xml").documentElement, true)));
  }

  function hundred(share) { return (100 * share).toFixed(1).replace(".0", ""); }

  function percent(share) { return `${hundred(share)} %`; }

  function counted(number) { return number.toLocaleString("en"); }

  function facts(place, rows) {
    place.replaceChildren(...rows.map(([term, figure]) =>
      element("div", [element("dt", term), element("dd", figure)])));
  }

  // For an unprotected table, or a release.
  function exposed(stand) {
    if (stand.k === null) return [["Rows", counted(stand.rows)]];
    const any = stand.k_any === null ? ""
      : `; ${counted(stand.k_any)} if a missing value may be any value`;
    return [
      ["Rows", counted(stand.rows)],
      ["Unique records", `${counted(stand.uniques)} (${percent(stand.uniques / stand.rows)})`],
      ["Smallest class", `k = ${counted(stand.k)}${any}`],
      ["Largest class risk", percent(stand.largest)],
      ["Found by linkage", `${percent(stand.risk)} on average`
        + ` (${hundred(stand.low)} to ${hundred(stand.high)}), ${percent(stand.worst)} at most`],
    ];
  }

  function column(one) {
    const name = element("bdi", one.name);
    const values = `${one.kind}, ${counted(one.different)} different`
      + (one.missing ? `, ${counted(one.missing)} missing` : "");
    const choice = element("select", Object.entries(words).map(([value, word]) =>
      element("option", word, { value, selected: value === one.role })));
    choice.setAttribute("aria-label", `Role of ${one.name}`);
    choice.dataset.column = one.name;
    const says = element("span", one.says, { className: "tables-says" });
    return element("tr", [
      element("th", name, { scope: "row" }), element("td", [values, says]), element("td", choice),
    ]);
  }

  function columns(all) {
    const body = at("columns").tBodies[0];
    if (!roles) {
      body.replaceChildren(...all.map(column));
      roles = Object.fromEntries(all.map((one) => [one.name, one.role]));
    }
    all.forEach((one, place) => {
      body.rows[place].querySelector(".tables-says").textContent = one.says;
    });
  }

  function methods(all) {
    const select = at("method");
    for (const one of all) {
      const option = select.querySelector(`option[value="${one.name}"]`);
      option.disabled = Boolean(one.unfit);
      option.title = one.unfit;
    }
    if (select.selectedOptions[0].disabled) {
      select.value = [...select.options].find((option) => !option.disabled).value;
    }
  }

  function withdraw() {
    for (const name of ["download", "card"]) {
      if (at(name).href) URL.revokeObjectURL(at(name).href);
      at(name).removeAttribute("href");
    }
  }

  function offer(name, content, type, file) {
    at(name).href = URL.createObjectURL(new Blob([content], { type }));
    at(name).download = file;
  }

  // A new turn: older answers are ignored.
  async function take(sentence, work) {
    const mine = ++turn;
    withdraw();
    say(sentence);
    try {
      await work(() => mine === turn);
    } catch (error) {
      if (mine === turn) say(error.message);
    }
  }

  // Figures for other roles would mislead.
  function forget() {
    facts(at("stand"), []);
    at("sizes").replaceChildren();
    at("empty").textContent = "";
  }

  function look() {
    at("found").hidden = true;
    at("choice").hidden = true;
    return take("Measuring …", async (current) => {
      const found = await ask("/api/tables/open", {}).catch((error) => {
        if (current()) forget();
        throw error;
      });
      if (!current()) return;
      columns(found.columns);
      at("empty").textContent = found.note;
      facts(at("stand"), exposed(found.stand));
      draw(at("sizes"), found.svg);
      methods(found.methods);
      at("opened").hidden = false;
      at("choice").hidden = Boolean(found.note);
      say("");
    });
  }

  function decoded(bytes) {
    try {
      return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
    } catch {
      throw new Error("The file must be UTF-8 text. Save it as CSV in UTF-8.");
    }
  }

  function open() {
    at("opened").hidden = true;
    at("found").hidden = true;
    at("choice").hidden = true;
    return take("", async (current) => {
      const [file] = at("file").files;
      if (!file) return;
      if (file.size > largest) {
        throw new Error("The file is too large for this page. Try 'veil tables' in a terminal.");
      }
      const read = decoded(await file.arrayBuffer());
      if (!current()) return;
      text = read;
      roles = null;
      await look();
    });
  }

  function label(stop, stand, utility) {
    at("spec").textContent = stop.spec;
    at("stop").setAttribute("aria-valuetext", stop.spec);
    facts(at("figures"), [...exposed(stand), ["Utility", utility.toFixed(3)]]);
    for (const spot of document.querySelectorAll("#tables-plane .point")) {
      spot.classList.toggle("chosen", spot.dataset.stop === at("stop").value);
    }
  }

  function move() {
    const stop = stops[Number(at("stop").value)];
    label(stop, stop.stand, stop.utility);
  }

  function protect() {
    move();
    return take("Protecting …", async (current) => {
      const stop = stops[Number(at("stop").value)];
      const asked = { method: stop.spec, excel_safe: at("safe").checked };
      const found = await ask("/api/tables/protect", asked);
      if (!current()) return;
      label(stop, found.stand, found.utility);
      at("cost").textContent = found.cost.kind === "none" ? "Nothing is proved."
        : `Proved: ${found.cost.says}.`;
      at("caveat").textContent = found.cost.caveat;
      at("kept").textContent = changes(found);
      draw(at("drawn"), ...found.svg);
      offer("download", found.file, "text/csv", "released.csv");
      offer("card", found.card, "application/json", "released.csv.veil.json");
      say("");
    });
  }

  function changes(found) {
    const parts = [];
    if (found.suppressed) parts.push(`${counted(found.suppressed)} rows suppressed.`);
    if (found.blanked) parts.push(`${counted(found.blanked)} cells suppressed.`);
    if (found.kept.length) parts.push(`Released unchanged: ${found.kept.join(", ")}.`);
    return parts.join(" ");
  }

  function notes(found) {
    const built = Object.entries(found.hierarchies).map(([name, by]) => `${name}: ${by}`);
    const parts = found.left_out.map((one) => `${one.spec} is impossible: ${one.why}`);
    if (built.length) parts.push(`Hierarchies: ${built.join("; ")}.`);
    return parts.join(" ");
  }

  function measure() {
    at("found").hidden = true;
    return take("Measuring …", async (current) => {
      const found = await ask("/api/tables/plane", { method: at("method").value });
      if (!current()) return;
      stops = found.stops;
      at("stop").max = stops.length - 1;
      at("stop").value = Math.floor((stops.length - 1) / 2);
      draw(at("plane"), found.svg);
      at("drawn").replaceChildren();
      at("found").hidden = false;
      at("left").textContent = notes(found);
      await protect();
    });
  }

  at("file").addEventListener("change", open);
  at("columns").addEventListener("change", (event) => {
    roles = { ...roles, [event.target.dataset.column]: event.target.value };
    look();
  });
  at("go").addEventListener("click", measure);
  at("method").addEventListener("change", () => { if (!at("found").hidden) measure(); });
  at("stop").addEventListener("input", move);
  at("stop").addEventListener("change", protect);
  at("safe").addEventListener("change", protect);
  at("plane").addEventListener("click", (event) => {
    const spot = event.target.closest(".point");
    if (!spot) return;
    at("stop").value = spot.dataset.stop;
    protect();
  });
})();

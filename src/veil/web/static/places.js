"use strict";

// A file is read here, measured and masked by the server of this page, and drawn. The download
// is what was drawn: both come from the same answer.

(() => {
  const at = (name) => document.getElementById(`places-${name}`);
  const told = at("told");
  const largest = 900000; // characters
  let points = null;
  let addresses = null;
  let stops = [];
  let turn = 0; // answers to older requests are ignored

  function say(words) { told.textContent = words; }

  async function read(input) {
    const [file] = input.files;
    if (!file) return null;
    if (file.size > largest) {
      throw new Error("The file is too large for this page. Try 'veil places' in a terminal.");
    }
    const format = /json$/i.test(file.name) ? "geojson" : "csv";
    return { text: await file.text(), format };
  }

  async function ask(path, body) {
    const answer = await fetch(path, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ points, crs: at("crs").value || null, ...body }),
    });
    const found = await answer.json();
    if (!answer.ok) throw new Error(found.error);
    return found;
  }

  function draw(place, ...drawings) {
    place.replaceChildren(...drawings.map((svg) => document.importNode(
      new DOMParser().parseFromString(svg, "image/svg+xml").documentElement, true)));
  }

  function offer(text) {
    const kind = at("out").value;
    const type = kind === "csv" ? "text/csv" : "application/geo+json";
    at("download").href = URL.createObjectURL(new Blob([text], { type }));
    at("download").download = `masked.${kind}`;
  }

  function withdraw() {
    if (at("download").href) URL.revokeObjectURL(at("download").href);
    at("download").removeAttribute("href");
  }

  function label() {
    const now = stops[Number(at("stop").value)];
    at("spec").textContent = now.spec;
    at("stop").setAttribute("aria-valuetext", now.spec);
    at("figures").textContent =
      `An attacker who knows the mechanism and ${addresses ? "the addresses" : "only these places"} identifies`
      + ` ${(100 * now.risk).toFixed(1)} % with one guess; utility ${now.utility.toFixed(3)}.`;
    for (const spot of document.querySelectorAll("#places-plane .point")) {
      spot.classList.toggle("chosen", spot.dataset.stop === at("stop").value);
    }
  }

  async function mask() {
    const mine = ++turn;
    withdraw();
    label();
    say("Masking …");
    try {
      const spec = stops[Number(at("stop").value)].spec;
      const asked = { method: spec, out: at("out").value, original: at("original").checked };
      const found = await ask("/api/places/protect", asked);
      if (mine !== turn) return;
      draw(at("map"), found.svg, ...found.beside);
      offer(found.file);
      at("cost").textContent = `${found.cost.says}. ${found.cost.caveat}`;
      say("");
    } catch (error) {
      if (mine === turn) say(error.message);
    }
  }

  async function measure() {
    const mine = ++turn;
    withdraw();
    at("found").hidden = true;
    say("");
    try {
      points = await read(at("file"));
      addresses = await read(at("register"));
      if (!points) return;
      say("Measuring …");
      const found = await ask("/api/places/plane", { method: at("method").value, addresses });
      if (mine !== turn) return;
      stops = found.stops;
      at("stop").max = stops.length - 1;
      draw(at("plane"), found.svg);
      at("found").hidden = false;
      await mask();
    } catch (error) {
      if (mine === turn) say(error.message);
    }
  }

  for (const name of ["file", "register", "crs", "method"]) {
    at(name).addEventListener("change", measure);
  }
  at("stop").addEventListener("input", label);
  at("stop").addEventListener("change", mask);
  at("out").addEventListener("change", mask);
  at("original").addEventListener("change", mask);
  at("plane").addEventListener("click", (event) => {
    const spot = event.target.closest(".point");
    if (!spot) return;
    at("stop").value = spot.dataset.stop;
    mask();
  });
})();

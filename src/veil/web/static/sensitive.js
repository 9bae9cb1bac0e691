"use strict";

// One search, sent twice to the server of this page: without clearance and with clearance.
// The left side is from the first answer only.

(() => {
  const at = (name) => document.getElementById(`sensitive-${name}`);
  let turn = 0; // answers to older requests are ignored

  function made(name, content, more = {}) {
    const node = document.createElement(name);
    node.append(...[content].flat());
    return Object.assign(node, more);
  }

  function counted(number, noun) {
    return `${number.toLocaleString("en")} ${noun}${number === 1 ? "" : "s"}`;
  }

  function level() { return Number(at("level").value).toFixed(2); }

  function chosen() { return at("strategy").selectedOptions[0].dataset; }

  function spec() { return at("strategy").value.replace("{}", level()); }

  async function ask(path, body) {
    const answer = await fetch(path, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(body),
    });
    const found = await answer.json();
    if (!answer.ok) throw new Error(found.error);
    return found;
  }

  function item(one, notes) {
    const title = made("bdi", one.title || one.id, { className: "sensitive-title" });
    const marks = notes.map(([words, kind]) => made("span", words, { className: `sensitive-${kind}` }));
    return made("li", [title, ...marks, made("bdi", one.text, { className: "sensitive-text" })]);
  }

  function likely(one) {
    if (one.label === true) return "labelled sensitive";
    if (one.label === false) return "labelled not sensitive";
    if (one.p === null) return "p is unknown";
    return `p = ${one.p.toFixed(2)}`;
  }

  function seen(one) {
    const hidden = one.rank === null;
    const made = item(one, [
      [likely(one), "mark"],
      hidden ? ["withheld from others", "withheld"] : [`rank ${one.rank} for others`, "mark"],
    ]);
    if (hidden) made.classList.add("sensitive-hidden");
    return made;
  }

  function show(left, right) {
    at("left").replaceChildren(...left.shown.map((one) => item(one, [])));
    at("left-total").textContent = left.total ? counted(left.total, "result") : "No results.";
    at("caveat").textContent = `${left.strategy}: ${left.cost.caveat}`;
    at("right").replaceChildren(...right.shown.map(seen));
    at("right-total").textContent = right.total
      ? `${counted(right.total, "result")}; of those below, ${right.withheld} withheld from others`
      : "No results.";
    at("found").hidden = false;
  }

  async function run() {
    const query = at("query").value;
    if (!query.trim()) return;
    const mine = ++turn;
    at("told").textContent = "Searching …";
    try {
      const body = { query, strategy: spec() };
      const left = await ask("/api/sensitive/search", body);
      const right = await ask("/api/sensitive/cleared", body);
      if (mine !== turn) return;
      show(left, right);
      at("told").textContent = "";
    } catch (error) {
      if (mine !== turn) return;
      at("found").hidden = true;
      at("told").textContent = error.message;
    }
  }

  function settle() {
    const preset = chosen();
    at("slider").hidden = !at("strategy").value.includes("{}");
    at("level").max = preset.most;
    at("level").step = preset.most / 100;
    at("means").textContent = preset.label;
    at("value").textContent = level();
  }

  at("form").addEventListener("submit", (event) => {
    event.preventDefault();
    run();
  });
  at("strategy").addEventListener("change", () => {
    at("level").max = chosen().most; // first, so that the value is not cut
    at("level").step = chosen().most / 100;
    at("level").value = chosen().start;
    settle();
    if (!at("found").hidden) run();
  });
  at("level").addEventListener("input", settle);
  at("level").addEventListener("change", () => { if (!at("found").hidden) run(); });
  settle();
})();

"use strict";

// Sends a question to the server of this page, and shows the noisy answer. Numbers are
// drawn with the standard deviation of their noise, on one scale per column.

(() => {
  const at = (name) => document.getElementById(`database-${name}`);
  const told = at("told");
  const found = at("found");

  function made(name, text, attributes = {}) {
    const node = document.createElement(name);
    if (text !== null) node.textContent = text;
    for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
    return node;
  }

  function shown(value) {
    if (value === null) return "NULL";
    if (typeof value !== "number") return String(value);
    return Number.isInteger(value) ? value.toLocaleString("en") : Number(value.toPrecision(6)).toLocaleString("en");
  }

  // Formatted like the server does: 1e-06.
  function tiny(value) {
    const rounded = Number(value.toPrecision(6));
    return rounded && rounded < 1e-4 ? rounded.toExponential().replace(/e-(\d)$/, "e-0$1") : String(rounded);
  }

  async function ask(path) {
    const answer = await fetch(path, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({
        query: at("query").value,
        epsilon: Number(at("epsilon").value),
        delta: Number(at("delta").value),
        params: [],
      }),
    });
    const body = await answer.json();
    if (!answer.ok) throw new Error(body.error);
    return body;
  }

  function budget(state) {
    at("budget").max = state.epsilon;
    at("budget").value = state.left;
    const delta = state.delta ? `, delta ${tiny(state.delta_left)} of ${tiny(state.delta)} left` : "";
    at("left").textContent = `epsilon ${shown(state.left)} of ${shown(state.epsilon)} left${delta}`;
  }

  // A bar from 0 to the value, and a whisker of one standard deviation on both sides.
  function bar(value, error, least, most) {
    const space = "http://www.w3.org/2000/svg";
    const wide = 120;
    const place = (x) => (most > least ? (wide * (x - least)) / (most - least) : 0);
    const svg = document.createElementNS(space, "svg");
    svg.setAttribute("viewBox", `0 0 ${wide} 14`);
    svg.setAttribute("class", "database-bar");
    svg.setAttribute("role", "img");
    svg.setAttribute("aria-label", `${shown(value)}, give or take ${shown(error)}`);
    const rect = document.createElementNS(space, "rect");
    const [from, to] = [place(Math.min(0, value)), place(Math.max(0, value))];
    rect.setAttribute("x", from);
    rect.setAttribute("y", 3);
    rect.setAttribute("width", Math.max(1, to - from));
    rect.setAttribute("height", 8);
    const line = document.createElementNS(space, "line");
    line.setAttribute("x1", place(value - error));
    line.setAttribute("x2", place(value + error));
    line.setAttribute("y1", 7);
    line.setAttribute("y2", 7);
    svg.append(rect, line);
    return svg;
  }

  function table(answer) {
    const scale = answer.columns.map((_, j) => {
      const ends = answer.rows.flatMap((row, i) => {
        const error = answer.errors[i][j];
        return error ? [row[j] - error, row[j] + error] : [];
      });
      return [Math.min(0, ...ends), Math.max(0, ...ends)];
    });
    const head = made("tr", null);
    answer.columns.forEach((name) => head.append(made("th", name, { scope: "col" })));
    const body = made("tbody", null);
    answer.rows.forEach((row, i) => {
      const line = made("tr", null);
      row.forEach((value, j) => {
        const error = answer.errors[i][j];
        const noisy = typeof value === "number" && error;
        const cell = made("td", noisy ? null : shown(value));
        if (noisy) {
          const words = `${shown(value)} ± ${shown(Number(error.toPrecision(3)))}`;
          cell.append(made("span", words), bar(value, error, ...scale[j]));
        }
        line.append(cell);
      });
      body.append(line);
    });
    const whole = made("table", null);
    const top = made("thead", null);
    top.append(head);
    whole.append(top, body);
    return whole;
  }

  async function run(path, show, words) {
    for (const name of ["ask", "explain"]) at(name).disabled = true;
    told.textContent = words;
    found.hidden = true;
    try {
      const answer = await ask(path);
      budget(answer.budget);
      found.replaceChildren(...show(answer));
      found.hidden = false;
      told.textContent = "";
    } catch (error) {
      told.textContent = error.message;
    } finally {
      for (const name of ["ask", "explain"]) at(name).disabled = false;
    }
  }

  function answered(answer) {
    const parts = [table(answer)];
    if (!answer.rows.length) parts.push(made("p", "No groups are reported."));
    parts.push(made("p", `± and the line are one standard deviation of the noise. ${answer.cost.says}.`, { class: "hint" }));
    parts.push(made("p", answer.cost.caveat, { class: "hint" }));
    if (answer.threshold !== null) {
      parts.push(made("p", `Groups are reported from a noisy count of ${shown(answer.threshold)} units.`, { class: "hint" }));
    }
    return parts;
  }

  at("form").addEventListener("submit", (event) => {
    event.preventDefault();
    run("/api/dp/sql", answered, "Asking …");
  });
  at("explain").addEventListener("click", () => {
    run("/api/dp/explain", (answer) => [made("pre", answer.says)], "Explaining …");
  });
  at("examples").addEventListener("change", () => {
    if (at("examples").value) at("query").value = at("examples").value;
    at("examples").value = "";
  });
})();

"use strict";
(() => {
  const plane = JSON.parse(document.getElementById("plane").textContent);
  const byId = (id) => document.getElementById(id);
  const SVG = "http://www.w3.org/2000/svg";

  /* Text goes in as text, never as markup: whatever a table holds, it stays a value. */
  function element(name, attributes = {}, ...children) {
    const made = name.startsWith("svg:") ? document.createElementNS(SVG, name.slice(4)) : document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    made.append(...children);
    return made;
  }

  const tip = byId("tip");
  function showTip(x, y, ...content) {
    tip.replaceChildren(...content);
    tip.hidden = false;
    const box = tip.getBoundingClientRect();
    const left = x + 14 + box.width > innerWidth ? x - 14 - box.width : x + 14;
    tip.style.left = `${Math.max(4, left)}px`;
    tip.style.top = `${Math.max(4, Math.min(y + 14, innerHeight - box.height - 4))}px`;
  }
  const hideTip = () => { tip.hidden = true; };
  document.addEventListener("pointerover", (event) => {
    const words = event.target.closest?.("[data-tip]")?.dataset.tip;
    if (words) showTip(event.clientX, event.clientY, words);
  });
  document.addEventListener("pointerout", (event) => { if (event.target.closest?.("[data-tip]")) hideTip(); });

  if (plane) map();
  look();
  addEventListener("beforeprint", () => {
    for (const part of document.querySelectorAll("details")) part.open = true;
  });

  function map() {
    const drawing = byId("map"), panel = byId("panel"), n = plane.row.length;
    const WIDTH = 640, HEIGHT = 480, EDGE = 22, SHOWN = 12;
    const PALETTE = ["#1f77b4", "#e07b00", "#2a9d4a", "#d1403b", "#8a63c2", "#97604c", "#d964b0", "#86b817", "#c79a00", "#16a3b5"];
    const RAMP = ["#3b4cc0", "#7b9ff9", "#9a9a9a", "#f08a6c", "#b40426"];
    const place = new Map(plane.row.map((row, k) => [row, k]));
    const x = plane.x.map((v) => EDGE + (v / 1000) * (WIDTH - 2 * EDGE));
    const y = plane.y.map((v) => HEIGHT - EDGE - (v / 1000) * (HEIGHT - 2 * EDGE));
    const { cuts, colour } = colours();
    const lines = element("svg:g", {}), points = element("svg:g", {}), ring = element("svg:circle", { class: "at", r: 9, visibility: "hidden" });
    drawing.replaceChildren(points, lines, ring);
    const circles = plane.row.map((_, k) => element("svg:circle", { cx: x[k].toFixed(1), cy: y[k].toFixed(1), fill: colour(k), style: `color:${colour(k)}` }));
    let budget = 0, current = -1;
    const sets = plane.kept.map((some) => new Set(some)), isKept = (k) => sets[budget].has(k);
    const label = (code) => (plane.task === "regression" ? String(code) : (plane.classes[code] ?? "unknown").trim());
    const controls = byId("map-controls"), highlight = byId("highlight"), dropped = byId("dropped");

    controls.addEventListener("submit", (event) => event.preventDefault());
    controls.addEventListener("change", (event) => { if (event.target.id !== "goto") redraw(); });
    byId("goto").addEventListener("change", (event) => {
      const k = place.get(Number(event.target.value));
      if (event.target.value === "") return;
      if (k === undefined) panel.replaceChildren(element("p", { class: "note" }, `Row ${event.target.value} is not drawn.`));
      else select(k);
    });

    function colours() {
      if (plane.task !== "regression") {
        const few = plane.classes.length <= PALETTE.length;
        return { cuts: [], colour: (k) => (few ? PALETTE[plane.label[k]] : "var(--ours)") };
      }
      const sorted = [...plane.label].sort((a, b) => a - b);
      const cuts = [0.2, 0.4, 0.6, 0.8].map((f) => sorted[Math.floor(f * (n - 1))]);
      return { cuts, colour: (k) => RAMP[cuts.filter((c) => plane.label[k] > c).length] };
    }

    function redraw() {
      budget = Number(controls.querySelector("input[name=budget]:checked").value);
      const wanted = highlight?.value ?? "", others = [], kept = [];
      circles.forEach((circle, k) => {
        const on = isKept(k);
        circle.setAttribute("class", `point${on ? " kept" : ""}${wanted !== "" && String(plane.label[k]) !== wanted ? " faded" : ""}`);
        circle.setAttribute("r", on ? 5 : 2.5);
        if (on) kept.push(circle);
        else if (dropped.checked) others.push(circle);
      });
      points.replaceChildren(...others, ...kept);
      if (current >= 0) select(current);
    }

    function legend() {
      const swatch = (colour, words, style = "") => element("li", {}, element("i", { style: `color:${colour}`, class: style }), words);
      const items = [swatch("var(--muted)", "kept"), swatch("var(--muted)", "not kept", "small")];
      if (cuts.length) RAMP.forEach((c, k) => items.push(swatch(c, k === 0 ? `up to ${brief(cuts[0])}` : k < 4 ? `up to ${brief(cuts[k])}` : `above ${brief(cuts[3])}`)));
      else if (plane.classes.length <= PALETTE.length) plane.classes.forEach((name, k) => items.push(swatch(PALETTE[k], name)));
      byId("map-legend").replaceChildren(...items);
    }

    function brief(number) { return String(Number(number.toPrecision(3))); }
    const title = (k) => `Row ${plane.row[k]} · label ${label(plane.label[k])} · ${isKept(k) ? "kept" : "not kept"}`;
    function cells(k, from, to) {
      const list = element("dl");
      plane.columns.slice(from, to).forEach((name, j) => list.append(element("div", {}, element("dt", {}, name), element("dd", {}, plane.cells[k][from + j]))));
      return list;
    }
    function summary(k) {
      const more = plane.n_columns - SHOWN;
      return [element("b", {}, title(k)), cells(k, 0, SHOWN), ...(more > 0 ? [`and ${more} more columns`] : [])];
    }

    function nearest(event) {
      const at = drawing.getScreenCTM().inverse(), p = new DOMPoint(event.clientX, event.clientY).matrixTransform(at);
      const reach = event.pointerType === "touch" ? 24 : 12;
      let best = -1, least = reach * at.a * reach * at.a;
      for (let k = 0; k < n; k++) {
        if (!dropped.checked && !isKept(k)) continue;
        const d = (x[k] - p.x) ** 2 + (y[k] - p.y) ** 2;
        if (d <= least) { least = d; best = k; }
      }
      return best;
    }
    drawing.addEventListener("pointermove", (event) => {
      const k = nearest(event);
      if (k < 0) hideTip();
      else showTip(event.clientX, event.clientY, ...summary(k));
    });
    drawing.addEventListener("pointerleave", hideTip);
    drawing.addEventListener("click", (event) => {
      const k = nearest(event);
      if (k >= 0) select(k);
    });

    const WAYS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
    drawing.addEventListener("keydown", (event) => {
      if (event.key in WAYS) {
        event.preventDefault();
        current = current < 0 ? circles.findIndex((_, k) => isKept(k)) : step(current, WAYS[event.key]);
        if (current < 0) return;
        mark(current);
        byId("map-row").textContent = title(current);
        const box = circles[current].getBoundingClientRect();
        showTip(box.x, box.y, ...summary(current));
      } else if (event.key === "Enter" && current >= 0) select(current);
      else if (event.key === "Escape") { release(); hideTip(); }
    });
    function step(from, [dx, dy]) {
      let best = from, least = Infinity;
      for (let k = 0; k < n; k++) {
        if (!dropped.checked && !isKept(k)) continue;
        const ahead = (x[k] - x[from]) * dx + (y[k] - y[from]) * dy;
        const aside = Math.abs((x[k] - x[from]) * dy + (y[k] - y[from]) * dx);
        if (ahead > 0.5 && aside <= ahead && ahead + 2 * aside < least) { least = ahead + 2 * aside; best = k; }
      }
      return best;
    }

    function mark(k) {
      ring.setAttribute("cx", x[k]);
      ring.setAttribute("cy", y[k]);
      ring.setAttribute("visibility", "visible");
    }
    function release() {
      current = -1;
      ring.setAttribute("visibility", "hidden");
      lines.replaceChildren();
      panel.replaceChildren();
    }
    function select(k) {
      current = k;
      mark(k);
      lines.replaceChildren();
      const told = [element("h3", {}, title(k))];
      if (plane.right) told.push(element("p", { class: "note" }, `Models that did not see it get its label right ${Math.round(100 * plane.right[k])} % of the time; p-value ${plane.p[k]}.`));
      told.push(...effects(k));
      const rest = plane.columns.length > SHOWN ? [element("details", {}, element("summary", {}, plane.columns.length < plane.n_columns ? `More of its ${plane.n_columns} columns` : "All its columns"), cells(k, SHOWN))] : [];
      told.push(element("h4", {}, "It holds"), cells(k, 0, SHOWN), ...rest);
      panel.replaceChildren(...told);
    }
    function effects(k) {
      const found = plane.effects[k];
      if (!found) return [element("p", { class: "note" }, "What it does for which rows was not computed for this row.")];
      const [value, error, helps, hurts] = found;
      const spread = error === null ? "" : ` ± ${error}`;
      const told = [element("p", {}, `It adds ${signed(value)}${spread} to an evaluation row on average.`)];
      for (const [style, words, rows] of [["helps", "Does most for", helps], ["hurts", "Does most against", hurts]]) {
        if (!rows.length) continue;
        told.push(element("h4", {}, words), element("ul", {}, ...rows.map((line) => effect(k, style, line))));
      }
      return told;
    }
    function effect(k, style, [row, code, influence, error]) {
      const other = plane.own ? place.get(row) : undefined;
      if (other !== undefined) lines.append(element("svg:line", { class: style, x1: x[k], y1: y[k], x2: x[other], y2: y[other] }));
      const name = `${plane.own ? "row" : "validation row"} ${row} (${label(code)})`;
      const shown = other === undefined ? name : element("button", { type: "button", class: "go" }, name);
      if (other !== undefined) shown.addEventListener("click", () => select(other));
      const chance = error !== null && Math.abs(influence) < plane.chance * error;
      const size = ` ${signed(influence)}${error === null ? "" : ` ± ${error}`}${chance ? ", may be chance" : ""}`;
      return element("li", chance ? { class: "chance" } : {}, shown, size);
    }
    function signed(number) { return `${number > 0 ? "+" : ""}${number}`; }

    document.addEventListener("click", (event) => {
      const row = event.target.closest?.("button[data-row]")?.dataset.row;
      const k = row === undefined ? undefined : place.get(Number(row));
      if (k === undefined) return;
      select(k);
      drawing.scrollIntoView({ block: "center" });
      drawing.focus({ preventScroll: true });
    });
    legend();
    redraw();
  }

  function look() {
    const grid = byId("look");
    if (!grid) return;
    const body = grid.tBodies[0], rows = [...body.rows], search = byId("look-search"), kind = byId("look-kind");
    const text = (row, k) => row.cells[k].textContent;
    function filter() {
      const wanted = search.value.trim().toLowerCase();
      for (const row of rows) row.hidden = !((kind.value === "" || text(row, 1) === kind.value) && row.textContent.toLowerCase().includes(wanted));
      const shown = rows.filter((row) => !row.hidden).length;
      byId("look-count").textContent = shown === rows.length ? `${shown} rows` : `${shown} of ${rows.length} rows`;
    }
    byId("look-controls").addEventListener("submit", (event) => event.preventDefault());
    search.addEventListener("input", filter);
    kind.addEventListener("change", filter);

    grid.tHead.addEventListener("click", (event) => {
      const button = event.target.closest("button");
      if (!button) return;
      const head = button.parentElement, k = Number(button.dataset.column);
      const down = head.getAttribute("aria-sort") === "ascending" ? -1 : 1;
      for (const other of grid.tHead.rows[0].cells) other.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", down === 1 ? "ascending" : "descending");
      rows.sort((a, b) => {
        const [p, q] = [text(a, k), text(b, k)];
        if (p === "" || q === "") return (p === "") - (q === "");
        return down * (head.classList.contains("number") ? Number(p) - Number(q) : p.localeCompare(q));
      });
      body.append(...rows);
    });

    byId("look-export").addEventListener("click", () => {
      const quoted = (cell) => `"${cell.textContent.replaceAll('"', '""')}"`;
      const lines = [grid.tHead.rows[0], ...rows.filter((row) => !row.hidden)].map((row) => [...row.cells].map(quoted).join(","));
      const address = URL.createObjectURL(new Blob([lines.join("\r\n") + "\r\n"], { type: "text/csv" }));
      const link = element("a", { href: address, download: "rows-to-look-at.csv" });
      link.click();
      setTimeout(() => URL.revokeObjectURL(address), 1000);
    });
  }
})();

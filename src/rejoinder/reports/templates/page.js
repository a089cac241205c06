// The page works without this; it adds copy buttons, filters and sorting of the replies, and opens all parts in print.
"use strict";
const said = document.getElementById("said");

function make(tag, properties, ...children) {
  const element = Object.assign(document.createElement(tag), properties);
  element.append(...children);
  return element;
}

for (const box of document.querySelectorAll(".copy")) {
  const button = make("button", { type: "button", textContent: "Copy" });
  button.setAttribute("aria-label", "Copy " + box.dataset.what);
  button.addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(box.textContent);
      said.textContent = "Copied " + box.dataset.what + ".";
      button.textContent = "Copied";
    } catch {
      getSelection().selectAllChildren(box);
      said.textContent = "Selected " + box.dataset.what + "; copy it with your keyboard.";
      button.textContent = "Selected";
    }
    setTimeout(() => { button.textContent = "Copy"; }, 2000);
  });
  box.after(button);
}

let opened = [];
addEventListener("beforeprint", () => {
  opened = [...document.querySelectorAll("details:not([open])")];
  for (const part of opened) part.open = true;
});
addEventListener("afterprint", () => { for (const part of opened) part.open = false; });

function enhanceReplies(table) {
  const perPage = 50;
  const heads = [...table.tHead.rows[0].cells];
  const names = heads.map((head) => head.textContent);
  const rows = [...table.tBodies[0].rows].map((row, place) => {
    const texts = [...row.cells].map((cell) => cell.textContent);
    return { row, place, texts, search: texts.slice(0, 3).join("\n").toLowerCase() };
  });
  const isNumber = heads.map((head) => head.classList.contains("number"));
  const value = (entry, column) => isNumber[column] ? parseFloat(entry.texts[column]) : entry.texts[column];
  const numbers = names.map((_, i) => i).filter((i) => isNumber[i]);

  const search = make("input", { type: "search" });
  const system = make("select", {}, make("option", { value: "", textContent: "all" }));
  for (const name of new Set(rows.map((entry) => entry.texts[0]))) system.append(make("option", { textContent: name }));
  const metric = make("select", {});
  for (const i of numbers) metric.append(make("option", { value: i, textContent: names[i] }));
  const low = make("input", { type: "number", step: "any" });
  const high = make("input", { type: "number", step: "any" });
  const filters = document.getElementById("filters");
  const label = (text, control) => make("label", {}, text, control);
  filters.append(label("Search", search), label("System", system));
  if (numbers.length) filters.append(label("Score or rating", metric), label("from", low), label("to", high));
  filters.hidden = false;

  let sorted = -1, ascending = true, page = 0;
  const caption = table.caption;
  const back = make("button", { type: "button", textContent: "Previous" });
  const forth = make("button", { type: "button", textContent: "Next" });
  const place = make("span", {});
  const pages = document.getElementById("pages");
  pages.append(back, place, forth);

  function show() {
    const words = search.value.toLowerCase().trim();
    const column = Number(metric.value);
    const from = parseFloat(low.value), to = parseFloat(high.value);
    const chosen = rows.filter((entry) =>
      (!words || entry.search.includes(words)) &&
      (!system.value || entry.texts[0] === system.value) &&
      (Number.isNaN(from) || value(entry, column) >= from) &&
      (Number.isNaN(to) || value(entry, column) <= to));
    if (sorted >= 0) {
      chosen.sort((one, other) => {
        const a = value(one, sorted), b = value(other, sorted);
        if (Number.isNaN(a) || Number.isNaN(b)) return Number.isNaN(a) - Number.isNaN(b) || one.place - other.place;
        return (a < b ? -1 : a > b ? 1 : 0) * (ascending ? 1 : -1) || one.place - other.place;
      });
    }
    const last = Math.max(0, Math.ceil(chosen.length / perPage) - 1);
    page = Math.min(page, last);
    table.tBodies[0].replaceChildren(...chosen.slice(page * perPage, (page + 1) * perPage).map((entry) => entry.row));
    const all = rows.length.toLocaleString("en") + (rows.length === 1 ? " reply" : " replies");
    caption.textContent = chosen.length === rows.length ? all : chosen.length.toLocaleString("en") + " of " + all;
    place.textContent = "Page " + (page + 1) + " of " + (last + 1);
    pages.hidden = !last;
    back.disabled = page === 0;
    forth.disabled = page === last;
  }

  function refilter() {
    page = 0;
    show();
    said.textContent = caption.textContent + " shown.";
  }
  for (const control of [search, system, metric, low, high]) control.addEventListener("input", refilter);
  back.addEventListener("click", () => { page -= 1; show(); });
  forth.addEventListener("click", () => { page += 1; show(); });
  heads.forEach((head, i) => {
    const button = make("button", { type: "button", textContent: names[i] });
    button.addEventListener("click", () => {
      ascending = sorted === i ? !ascending : true;
      sorted = i;
      heads.forEach((other) => other.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", ascending ? "ascending" : "descending");
      refilter();
    });
    head.replaceChildren(button);
  });
  show();
}

const replies = document.getElementById("reply-table");
if (replies) enhanceReplies(replies);

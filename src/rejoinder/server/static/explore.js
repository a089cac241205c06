// Keys and dragging on the pages of runs; without this script everything is still there as links and forms.
"use strict";

const links = Array.from(document.querySelectorAll("table[data-rows] tbody th a"));

function move(step) {
  const at = links.indexOf(document.activeElement);
  const to = at < 0 ? (step > 0 ? 0 : links.length - 1) : Math.min(Math.max(at + step, 0), links.length - 1);
  links[to].focus();
}

function follow(selector) {
  const link = document.querySelector(selector);
  if (link) location.assign(link.href);
}

document.addEventListener("keydown", (event) => {
  const typing = event.target.closest("input, select, textarea, [contenteditable]");
  if (typing || event.ctrlKey || event.metaKey || event.altKey) return;
  const search = document.getElementById("f-q");
  if (event.key === "/" && search) {
    event.preventDefault();
    search.focus();
  } else if (event.key === "j" || event.key === "k") {
    if (links.length) move(event.key === "j" ? 1 : -1);
    else follow(event.key === "j" ? "a[rel=next]" : "a[rel=prev]");
  } else if (event.key === "u") {
    follow("a[data-back]");
  }
});

// A range that is dragged over a histogram becomes a filter: in the address, the range of its column is replaced.
for (const chart of document.querySelectorAll("svg.histogram")) {
  const [low, high] = [Number(chart.dataset.low), Number(chart.dataset.high)];
  const box = document.createElementNS("http://www.w3.org/2000/svg", "rect");
  let start = null;
  let moved = false;

  const share = (event) => {
    const area = chart.getBoundingClientRect();
    return Math.min(Math.max((event.clientX - area.left) / area.width, 0), 1);
  };
  const rounded = (value) => Number(value.toPrecision(6));

  chart.addEventListener("dragstart", (event) => event.preventDefault());
  chart.addEventListener("pointerdown", (event) => {
    if (event.button !== 0) return;
    start = share(event);
    moved = false;
  });
  chart.addEventListener("pointermove", (event) => {
    if (start === null) return;
    const end = share(event);
    if (!moved && Math.abs(end - start) < 0.01) return;
    if (!moved) chart.setPointerCapture(event.pointerId);
    moved = true;
    const width = chart.viewBox.baseVal.width;
    const values = { class: "brush", y: 0, height: 84, x: Math.min(start, end) * width, width: Math.abs(end - start) * width };
    for (const [name, value] of Object.entries(values)) box.setAttribute(name, value);
    chart.append(box);
  });
  chart.addEventListener("pointerup", (event) => {
    if (start !== null && moved) {
      const ends = [start, share(event)].sort((a, b) => a - b).map((at) => rounded(low + at * (high - low)));
      const address = new URL(chart.dataset.drag, location.href);
      const pairs = Array.from(address.searchParams, ([name, value]) =>
        name === "range" && value === `${chart.dataset.name}:..` ? [name, `${chart.dataset.name}:${ends[0]}..${ends[1]}`] : [name, value],
      );
      address.search = new URLSearchParams(pairs);
      location.assign(address);
    }
    start = null;
  });
  chart.addEventListener("click", (event) => {
    if (moved) event.preventDefault();
  }, true);
}

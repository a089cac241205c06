"use strict";
// All of it is an addition: without scripts every page can still be read and reached.
(() => {
  const home = document.currentScript.dataset.home;
  const root = home.slice(0, home.length - "search-index.js".length);
  const wide = window.matchMedia("(min-width: 60rem)");
  const openWhen = (part, query) => {
    const settle = () => { if (part) part.open = query.matches; };
    settle();
    query.addEventListener("change", settle);
  };
  openWhen(document.querySelector(".menu"), wide);
  openWhen(document.querySelector(".contents details"), window.matchMedia("(min-width: 82rem)"));
  const here = document.querySelector(".tree [aria-current]");
  if (wide.matches && here) {
    const tree = document.querySelector(".tree");
    tree.scrollTop = Math.max(0, here.offsetTop - tree.clientHeight / 2);
  }

  for (const figure of document.querySelectorAll("figure.code")) {
    const text = figure.querySelector("pre").innerText;
    const button = Object.assign(document.createElement("button"), { type: "button", className: "copy", textContent: "Copy" });
    button.addEventListener("click", async () => {
      const lines = text.split("\n");
      const typed = lines.filter((line) => line.startsWith("$ ")).map((line) => line.slice(2));
      await navigator.clipboard.writeText(typed.length ? typed.join("\n") : text);
      button.textContent = "Copied";
      setTimeout(() => { button.textContent = "Copy"; }, 1500);
    });
    if (navigator.clipboard) figure.append(button);
  }

  const box = document.querySelector(".search");
  const field = document.getElementById("site-search");
  const list = document.getElementById("site-found");
  const count = document.getElementById("site-count");
  box.hidden = false;
  const load = () => {
    if (document.querySelector("script[data-index]")) return;
    for (const src of [`${root}search.js`, home]) {
      const script = Object.assign(document.createElement("script"), { src, async: false });
      script.dataset.index = "";
      script.addEventListener("load", show);
      document.head.append(script);
    }
  };
  function show() {
    const typed = field.value.trim();
    list.replaceChildren();
    list.hidden = !typed || !window.searchIndex || !window.searchSite;
    count.textContent = "";
    if (list.hidden) return;
    const found = window.searchSite(typed);
    count.textContent = found.length === 1 ? "1 place found" : `${found.length} places found`;
    for (const [heading, page, address, said] of found.slice(0, 12)) {
      const link = Object.assign(document.createElement("a"), { href: root + address, textContent: heading });
      const line = Object.assign(document.createElement("span"), { textContent: [page, said].filter(Boolean).join(" · ") });
      link.append(line);
      const entry = document.createElement("li");
      entry.append(link);
      list.append(entry);
    }
    if (!found.length) list.append(Object.assign(document.createElement("li"), { className: "none", textContent: "Nothing found" }));
  }
  field.addEventListener("focus", load);
  field.addEventListener("input", show);
  box.addEventListener("keydown", (event) => {
    const links = [...list.querySelectorAll("a")];
    const at = links.indexOf(document.activeElement);
    if (event.key === "Escape") { field.value = ""; show(); field.focus(); }
    if (event.key === "ArrowDown" && links.length) { event.preventDefault(); links[Math.min(at + 1, links.length - 1)].focus(); }
    if (event.key === "ArrowUp" && at >= 0) { event.preventDefault(); (links[at - 1] || field).focus(); }
    if (event.key === "Enter" && document.activeElement === field && links.length) links[0].click();
  });
  document.addEventListener("click", (event) => { if (!box.contains(event.target)) list.hidden = true; });
  document.addEventListener("keydown", (event) => {
    if (event.key === "/" && !/^(INPUT|TEXTAREA)$/.test(document.activeElement.tagName)) { event.preventDefault(); field.focus(); }
  });
})();

"use strict";
// The Try page: what is typed is scored after a short pause; why, and what attacks would score, after a longer one.
(() => {
  const $ = (id) => document.getElementById(id);
  const offered = JSON.parse($("offered").textContent);
  const mark = document.querySelector('meta[name="rejoinder-mark"]').content;
  const before = new Map();
  let turn = 0;

  const make = (tag, text, attributes = {}) => {
    const made = document.createElement(tag);
    if (text !== undefined) made.textContent = text;
    for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
    return made;
  };
  const number = (value) => (value === null ? "–" : Math.abs(value) > 0 && Math.abs(value) < 0.0005 ? value.toExponential(1) : value.toFixed(3));

  // A turn as our own format, OpenAI's and plain lists have it.
  const turnOf = (one) => {
    if (typeof one === "string") return one;
    const text = one.text ?? one.content ?? "";
    const said = Array.isArray(text) ? text.map((part) => part.text ?? "").join(" ") : String(text);
    const speaker = one.speaker ?? one.role;
    return speaker ? { speaker: String(speaker), text: said } : said;
  };
  const textOf = (one) => (typeof one === "string" ? one : one.text);
  const contextOf = (typed) => {
    const text = typed.trim();
    if (!text.startsWith("[") && !text.startsWith("{")) {
      return text.split("\n").map((line) => line.trim()).filter(Boolean).map((line) => {
        const found = /^([^\s:][^:]{0,30}):\s+(.+)$/.exec(line);
        return found ? { speaker: found[1], text: found[2] } : line;
      });
    }
    let found;
    try { found = JSON.parse(text); } catch { found = JSON.parse(text.split("\n")[0]); }
    const turns = Array.isArray(found) ? found : found.context ?? found.messages ?? found.turns;
    if (!Array.isArray(turns)) throw new Error("no list of turns");
    return turns.map(turnOf).filter((one) => textOf(one).trim());
  };

  const typed = () => {
    let context = [];
    $("context-problem").textContent = "";
    try { context = contextOf($("context").value); } catch {
      $("context-problem").textContent = "This begins like JSON but cannot be read as a list of turns.";
    }
    const references = $("references").value.split("\n").map((line) => line.trim()).filter(Boolean);
    return { context: context.slice(-200), reply: $("reply").value, references: references.slice(0, 200) };
  };
  const ask = async (path, body) => {
    const answer = await fetch(path, {
      method: "POST", body: JSON.stringify(body),
      headers: { "Content-Type": "application/json", Accept: "application/json", "X-Rejoinder-Mark": mark },
    });
    const found = await answer.json();
    if (!answer.ok) throw new Error(found.error);
    return found;
  };

  const short = (text) => (text.length > 44 ? text.slice(0, 43) + "…" : text);
  const matchedOf = (one, body) => {
    const said = [];
    if (one.reference !== null) said.push(`reference ${one.reference + 1}: ${short(body.references[one.reference])}`);
    if (one.turn !== null && body.context[one.turn] !== undefined) said.push(`turn ${one.turn + 1}: ${short(textOf(body.context[one.turn]))}`);
    return said.join("; ");
  };
  const row = (one, body) => {
    const made = make("tr");
    const [low, high] = one.facts.range;
    made.append(make("th", one.metric, { scope: "row" }));
    const score = make("td", number(one.score), { class: "number" });
    const last = before.get(one.metric);
    if (last !== undefined && last !== one.score) made.className = "moved";
    before.set(one.metric, one.score);
    const bar = make("td");
    if (one.score !== null && low !== null && high !== null) {
      bar.append(make("meter", number(one.score), { min: low, max: high, value: one.score, "aria-label": `${one.metric}, from ${low} to ${high}` }));
    }
    made.append(score, bar, make("td", matchedOf(one, body), { class: "why", dir: "auto" }));
    return made;
  };
  const showScores = (found, body) => {
    const scored = found.filter((one) => one.score !== null);
    const absent = found.filter((one) => one.score === null);
    $("scores").replaceChildren(...scored.map((one) => row(one, body)));
    const why = (one) => one.error ?? (one.missing ? `needs ${one.missing === "reply" ? "a reply" : one.missing}` : "has nothing to say");
    $("absent").replaceChildren(...absent.map((one) => make("li", `${one.metric}: ${why(one)}`)));
    $("absent-count").textContent = absent.length;
    const first = scored.find((one) => one.metric === "aptness") ?? scored[0];
    $("said").textContent = first ? `${scored.length} metrics; ${first.metric} ${number(first.score)}` : "No metric has a score yet.";
  };

  const listed = (spans) => spans.map((one) => `“${one.text}” ${one.worth > 0 ? "+" : "−"}${number(Math.abs(one.worth))}`).join(", ") || "nothing";
  const showWhy = (found, body) => {
    const most = Math.max(1e-9, ...found.words.map((one) => Math.abs(one.worth ?? 0)));
    const parts = [];
    let at = 0;
    const letters = Array.from(body.reply);  // places count whole characters
    for (const one of found.words) {
      parts.push(letters.slice(at, one.start).join(""));
      const share = Math.abs(one.worth ?? 0) / most;
      const kind = share < 0.1 ? "" : (one.worth > 0 ? "earn" : "cost") + (share > 0.66 ? " strong" : "");
      parts.push(kind ? make("mark", one.text, { class: kind, title: number(one.worth) }) : one.text);
      at = one.end;
    }
    $("marked").replaceChildren(...parts, letters.slice(at).join(""));
    $("costly").textContent = listed(found.costly);
    $("earning").textContent = listed(found.earning);
    const leans = found.leans_on.length ? found.leans_on : [];
    $("turns").replaceChildren(...(leans.length ? leans.map((one) => make("li", `turn ${one.turn + 1}: ${one.text} (${number(one.share)} of the score)`, { dir: "auto" })) : [make("li", "no single turn")]));
    $("notes").replaceChildren(...found.notes.map((note) => make("li", note)));
    $("why").hidden = false;
  };
  const showAttacks = (found) => {
    $("trials").replaceChildren(...found.trials.map((one) => {
      const made = make("tr");
      const beaten = one.kind === "attack" && one.lead !== null && one.lead <= 0;
      made.append(make("th", one.kind === "true" ? "the reply" : `${one.kind}: ${one.about}`, { scope: "row" }));
      made.append(make("td", number(one.score) + (beaten ? " (beats it)" : ""), { class: "number" }), make("td", one.text, { dir: "auto", class: "why" }));
      return made;
    }));
    $("attacks").hidden = false;
  };

  const explain = async (mine, body) => {
    $("why-problem").textContent = "";
    const asked = { ...body, metric: $("metric").value };
    const needs = offered.find((one) => one.metric === asked.metric).needs;
    const lacking = needs.includes("references") && !body.references.length ? "known good replies" : needs.includes("context") && !body.context.length ? "a conversation" : "";
    if (lacking) $("why-problem").textContent = `${asked.metric} needs ${lacking}.`;
    if (lacking || !body.reply.trim()) { $("why").hidden = $("attacks").hidden = true; return; }
    for (const [path, box, show] of [["/explain", "why", showWhy], ["/attack", "attacks", showAttacks]]) {
      try {
        const found = await ask(path, asked);
        if (mine !== turn) return;
        show(found, body);
      } catch (error) {
        if (mine !== turn) return;
        $(box).hidden = true;
        $("why-problem").textContent = error.message;
      }
    }
  };
  const score = async (mine) => {
    const body = typed();
    const names = offered.filter((one) => one.quick || $("slow").checked).map((one) => one.metric);
    try {
      const found = await ask("/try", { ...body, metrics: names.slice(0, 100) });
      if (mine !== turn) return;
      showScores(found.metrics, body);
    } catch (error) { if (mine === turn) $("said").textContent = error.message; }
    later(mine, () => explain(mine, body), 500);
  };
  const later = (mine, work, wait) => setTimeout(() => { if (mine === turn) work(); }, wait);
  const changed = () => { turn += 1; const mine = turn; later(mine, () => score(mine), 250); };

  $("tried").addEventListener("input", changed);
  $("tried").addEventListener("submit", (event) => event.preventDefault());
  $("metric").addEventListener("change", changed);
  $("file").addEventListener("change", async () => {
    const file = $("file").files[0];
    if (!file) return;
    $("context").value = (await file.slice(0, 1000000).text());
    changed();
  });
  changed();
})();

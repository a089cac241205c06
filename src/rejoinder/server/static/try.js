"use strict";
// The Try page: a reply is scored after a short pause in typing, explained and attacked after a longer one.
(() => {
  const $ = (id) => document.getElementById(id);
  const metrics = JSON.parse($("offered").textContent);
  const mark = document.querySelector('meta[name="rejoinder-mark"]').content;
  const previousScores = new Map();
  let latest = 0;  // counts changes; answers to earlier ones are dropped

  const make = (tag, text, attributes = {}) => {
    const element = document.createElement(tag);
    if (text !== undefined) element.textContent = text;
    for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
    return element;
  };
  const number = (value) => (value === null ? "–" : Math.abs(value) > 0 && Math.abs(value) < 0.0005 ? value.toExponential(1) : value.toFixed(3));

  // A turn in our own format, in OpenAI's, or as a plain string.
  const turnOf = (entry) => {
    if (typeof entry === "string") return entry;
    const content = entry.text ?? entry.content ?? "";
    const text = Array.isArray(content) ? content.map((part) => part.text ?? "").join(" ") : String(content);
    const speaker = entry.speaker ?? entry.role;
    return speaker ? { speaker: String(speaker), text } : text;
  };
  const textOf = (turn) => (typeof turn === "string" ? turn : turn.text);
  const isLog = (text) => text.startsWith("[") || text.startsWith("{");
  const contextOf = (input) => {
    const text = input.trim();
    if (!isLog(text)) {
      return text.split("\n").map((line) => line.trim()).filter(Boolean).map((line) => {
        const match = /^([^\s:][^:]{0,30}):\s+(.+)$/.exec(line);
        return match ? { speaker: match[1], text: match[2] } : line;
      });
    }
    let log;
    try { log = JSON.parse(text); } catch { log = JSON.parse(text.split("\n")[0]); }
    const turns = Array.isArray(log) ? log : log.context ?? log.messages ?? log.turns;
    if (!Array.isArray(turns)) throw new Error("no list of turns");
    return turns.map(turnOf).filter((turn) => textOf(turn).trim());
  };

  const lineOf = (turn) => (typeof turn === "string" ? turn : `${turn.speaker}: ${turn.text}`).replace(/\s+/g, " ");
  // A chat log: its last message of an assistant is the reply, what stands before it the conversation. A log that is
  // pasted and ends with a user's message is the conversation of a reply that is still to be written.
  const takeLog = (text, isFile) => {
    if (!isLog(text.trim())) return false;
    let turns;
    try { turns = contextOf(text); } catch { return false; }
    const place = turns.findLastIndex((turn) => /^(assistant|bot|model|ai|agent|gpt)$/i.test(turn.speaker ?? ""));
    if (place >= 0 && (isFile || place === turns.length - 1)) {
      $("reply").value = turns[place].text;
      turns = turns.slice(0, place);
    }
    $("context").value = turns.map(lineOf).join("\n");
    return true;
  };
  const showPreview = (context) => {
    $("preview").replaceChildren(...context.map((turn) => {
      const line = make("li", undefined, { dir: "auto" });
      if (turn.speaker) line.append(make("b", turn.speaker + ": "));
      line.append(textOf(turn));
      return line;
    }));
    $("preview-count").textContent = context.length === 1 ? "1 turn" : `${context.length} turns`;
  };

  const readInputs = () => {
    let context = [];
    $("context-problem").textContent = "";
    try { context = contextOf($("context").value); } catch {
      $("context-problem").textContent = "This looks like JSON, but it could not be read as a list of turns.";
    }
    showPreview(context);
    const references = $("references").value.split("\n").map((line) => line.trim()).filter(Boolean);
    return { context: context.slice(-200), reply: $("reply").value, references: references.slice(0, 200) };
  };
  const ask = async (path, body) => {
    let response;
    try {
      response = await fetch(path, {
        method: "POST", body: JSON.stringify(body),
        headers: { "Content-Type": "application/json", Accept: "application/json", "X-Rejoinder-Mark": mark },
      });
    } catch {
      throw new Error("The server does not answer. Check that rejoinder serve is still running; your text stays here.");
    }
    const answer = await response.json();
    if (!response.ok) throw new Error(answer.error);
    return answer;
  };

  const short = (text) => (text.length > 44 ? text.slice(0, 43) + "…" : text);
  const matchedOf = (one, body) => {
    const matches = [];
    if (one.reference !== null) matches.push(`reference ${one.reference + 1}: ${short(body.references[one.reference])}`);
    if (one.turn !== null && body.context[one.turn] !== undefined) matches.push(`turn ${one.turn + 1}: ${short(textOf(body.context[one.turn]))}`);
    return matches.join("; ");
  };
  const row = (one, body) => {
    const line = make("tr");
    const [low, high] = one.facts.range;
    const about = metrics.find((metric) => metric.metric === one.metric);
    const head = make("th", undefined, { scope: "row" });
    head.append(make("b", one.metric), " ", make("small", about.about));
    line.append(head);
    const score = make("td", number(one.score), { class: "number" });
    const last = previousScores.get(one.metric);
    if (last !== undefined && last !== one.score) line.className = "moved";
    previousScores.set(one.metric, one.score);
    const bar = make("td", undefined, { class: "scale" });
    if (one.score !== null && low !== null && high !== null) {
      bar.append(make("meter", number(one.score), { min: low, max: high, value: one.score, "aria-label": `${one.metric}, from ${low} to ${high}` }));
    }
    bar.append(make("small", about.direction));
    line.append(score, bar, make("td", matchedOf(one, body), { class: "why", dir: "auto" }));
    return line;
  };
  const groupsOf = (scored, body) => {
    const lines = [];
    let group = "";
    for (const one of scored) {
      const own = metrics.find((metric) => metric.metric === one.metric).group;
      if (own !== group) {
        const head = make("tr", undefined, { class: "group" });
        head.append(make("th", own, { scope: "rowgroup", colspan: "4" }));
        lines.push(head);
        group = own;
      }
      lines.push(row(one, body));
    }
    return lines;
  };
  const clearScores = () => {
    $("scores").replaceChildren();
    $("absent").replaceChildren();
    $("absent-box").hidden = true;
    $("why").hidden = $("attacks").hidden = true;
    $("why-status").textContent = "";
    previousScores.clear();
  };
  const showScores = (results, body) => {
    const scored = results.filter((one) => one.score !== null);
    const absent = results.filter((one) => one.score === null);
    $("scores").replaceChildren(...groupsOf(scored, body));
    const why = (one) => one.error ?? (one.missing ? `needs ${one.missing === "reply" ? "a reply" : one.missing}` : "has no score here");
    $("absent").replaceChildren(...absent.map((one) => make("li", `${one.metric}: ${why(one)}`)));
    $("absent-count").textContent = absent.length;
    $("absent-box").hidden = !absent.length;
    const first = scored.find((one) => one.metric === "aptness") ?? scored[0];
    $("status").textContent = first ? `${scored.length} ${scored.length === 1 ? "metric" : "metrics"}; ${first.metric} ${number(first.score)}` : "No metric has a score yet.";
  };

  const formatSpans = (spans) => spans.map((one) => `“${one.text}” ${one.worth > 0 ? "+" : "−"}${number(Math.abs(one.worth))}`).join(", ") || "nothing";
  const showWhy = (explanation, body) => {
    const most = Math.max(1e-9, ...explanation.words.map((one) => Math.abs(one.worth ?? 0)));
    const parts = [];
    let at = 0;
    const letters = Array.from(body.reply);  // positions count whole characters
    for (const one of explanation.words) {
      parts.push(letters.slice(at, one.start).join(""));
      const share = Math.abs(one.worth ?? 0) / most;
      const kind = share < 0.1 ? "" : (one.worth > 0 ? "earn" : "cost") + (share > 0.66 ? " strong" : "");
      parts.push(kind ? make("mark", one.text, { class: kind, title: number(one.worth) }) : one.text);
      at = one.end;
    }
    $("marked").replaceChildren(...parts, letters.slice(at).join(""));
    $("costly").textContent = formatSpans(explanation.costly);
    $("earning").textContent = formatSpans(explanation.earning);
    const leans = explanation.leans_on;
    $("turns").replaceChildren(...(leans.length ? leans.map((one) => make("li", `turn ${one.turn + 1}: ${one.text} (${number(one.share)} of the score)`, { dir: "auto" })) : [make("li", "no single turn")]));
    $("notes").replaceChildren(...explanation.notes.map((note) => make("li", note)));
    $("why").hidden = false;
  };
  const showAttacks = (result) => {
    $("trials").replaceChildren(...result.trials.map((one) => {
      const line = make("tr");
      // A metric that only describes calls nothing better, and equal scores beat nothing.
      const beaten = one.kind === "attack" && result.higher_is_better !== null && one.lead !== null && one.lead < 0;
      line.append(make("th", one.kind === "true" ? "the reply" : `${one.kind}: ${one.about}`, { scope: "row" }));
      line.append(make("td", number(one.score) + (beaten ? " (beats the reply)" : ""), { class: "number" }), make("td", one.text, { dir: "auto", class: "why" }));
      return line;
    }));
    $("attacks").hidden = false;
  };

  const explain = async (version, body) => {
    $("why-problem").textContent = "";
    const request = { ...body, metric: $("metric").value };
    const needs = metrics.find((one) => one.metric === request.metric).needs;
    const missing = needs.includes("references") && !body.references.length ? "known good replies" : needs.includes("context") && !body.context.length ? "a conversation" : "";
    if (missing) $("why-problem").textContent = `${request.metric} needs ${missing}.`;
    if (missing || !body.reply.trim()) { $("why").hidden = $("attacks").hidden = true; return; }
    $("why-status").textContent = "Explaining…";
    for (const [path, box, show] of [["/explain", "why", showWhy], ["/attack", "attacks", showAttacks]]) {
      try {
        const answer = await ask(path, request);
        if (version !== latest) return;
        show(answer, body);
      } catch (error) {
        if (version !== latest) return;
        $(box).hidden = true;
        $("why-problem").textContent = error.message;
      }
    }
    $("why-status").textContent = "";
  };
  const score = async (version) => {
    const body = readInputs();
    const names = metrics.filter((one) => one.quick || $("slow").checked).map((one) => one.metric);
    keepInAddress();
    $("status").textContent = "Scoring…";
    $("scores").setAttribute("aria-busy", "true");
    try {
      const answer = await ask("/try", { ...body, metrics: names.slice(0, 100) });
      if (version !== latest) return;
      showScores(answer.metrics, body);
    } catch (error) {
      if (version !== latest) return;
      clearScores();
      $("status").textContent = error.message;
      return;
    } finally { if (version === latest) $("scores").removeAttribute("aria-busy"); }
    later(version, () => explain(version, body), 500);
  };

  // The part of the address after # never reaches the server.
  const FIELDS = ["context", "reply", "references"];
  const keepInAddress = () => {
    const example = new URLSearchParams(FIELDS.map((field) => [field, $(field).value.trimEnd()]));
    const fits = example.toString().length < 16000;
    history.replaceState(null, "", fits ? "#" + example : location.pathname + location.search);
    $("share").textContent = fits ? "The address of this page holds the example: copy it to share or keep it." : "This example is too long for the address of the page.";
  };
  const readAddress = () => {
    const example = new URLSearchParams(location.hash.slice(1));
    if (!FIELDS.some((field) => example.has(field))) return;
    for (const field of FIELDS) $(field).value = example.get(field) ?? "";
  };
  const later = (version, work, wait) => setTimeout(() => { if (version === latest) work(); }, wait);
  const changed = () => { latest += 1; const version = latest; later(version, () => score(version), 250); };

  $("inputs").addEventListener("input", changed);
  $("inputs").addEventListener("submit", (event) => event.preventDefault());
  $("metric").addEventListener("change", changed);
  $("file").addEventListener("change", async () => {
    const file = $("file").files[0];
    if (!file) return;
    const text = await file.slice(0, 1000000).text();
    if (!takeLog(text, true)) $("context").value = text;
    changed();
  });
  $("context").addEventListener("paste", (event) => {
    if (!$("context").value.trim() && takeLog(event.clipboardData.getData("text"), false)) { event.preventDefault(); changed(); }
  });
  addEventListener("hashchange", () => { readAddress(); changed(); });
  $("results").hidden = $("preview-box").hidden = false;
  readAddress();
  changed();
})();

// Keyboard shortcuts, drafts and timing for the raters' pages; every page works without this too.
"use strict";

const form = document.getElementById("answer");
const dialog = document.getElementById("keys");
const PREFIX = "rejoinder draft ";

const OFF = "rejoinder single keys are off";

const isText = (element) => element instanceof HTMLTextAreaElement && !element.readOnly;
const typing = (element) =>
  isText(element) || (element instanceof HTMLInputElement && !["radio", "checkbox", "button", "submit"].includes(element.type));

// The draft of an answer lives in this tab only, and only until it is sent.
function storage(job) {
  try {
    return job(window.sessionStorage);
  } catch {
    return null; // storage is turned off, so there are no drafts
  }
}

// People who use voice control, or rest a hand on the keyboard, can turn single-key shortcuts off.
let singleKeys = permanentStorage((store) => store.getItem(OFF)) === null;

function permanentStorage(job) {
  try {
    return job(window.localStorage);
  } catch {
    return null; // storage is turned off, so shortcuts are on again on the next page
  }
}

function forgetDraftsBut(key) {
  storage((store) => {
    for (const name of Object.keys(store)) if (name.startsWith(PREFIX) && name !== key) store.removeItem(name);
  });
}

function submitById(id) {
  const target = document.getElementById(id);
  const button = target && target.querySelector("button") || document.querySelector(`button[form="${id}"]`);
  if (target && button && !button.disabled) target.requestSubmit();
}

function follow(id) {
  const link = document.getElementById(id);
  if (link) link.click();
}

if (form) {
  const key = PREFIX + form.dataset.assignment;
  const asks = [...form.querySelectorAll(".ask")];
  const control = (ask) => ask.querySelector("textarea") || ask.querySelector("input:checked") || ask.querySelector("input");
  const inputs = (ask) => [...ask.querySelectorAll("input")];
  const status = document.getElementById("status");
  let sending = false;
  let visible = 0;
  let since = document.hidden ? null : performance.now();

  const visibleAsks = () => asks.filter((ask) => !ask.hidden);
  const isAnswered = (ask) => {
    const text = ask.querySelector("textarea");
    return text ? text.value.trim() !== "" : inputs(ask).some((input) => input.checked);
  };
  const firstMissing = () => visibleAsks().find((ask) => "required" in ask.dataset && !isAnswered(ask));
  const current = () => asks.find((ask) => "current" in ask.dataset && !ask.hidden);
  const seconds = () => (visible + (since === null ? 0 : performance.now() - since)) / 1000;

  function mark(ask) {
    for (const one of asks) delete one.dataset.current;
    if (ask) ask.dataset.current = "";
  }

  function go(ask, focus) {
    if (!ask) return;
    mark(ask);
    if (focus) control(ask).focus({ preventScroll: true });
    ask.scrollIntoView({ block: "nearest" });
  }

  function showWhatApplies() {
    for (const ask of asks) {
      if (!("if" in ask.dataset)) continue;
      const chosen = form.querySelector(`input[name="${CSS.escape(ask.dataset.if)}"]:checked`);
      ask.hidden = !chosen || chosen.value !== ask.dataset.is;
      for (const one of ask.querySelectorAll("textarea, input")) one.disabled = ask.hidden;
    }
  }

  function keepDraft() {
    const draft = { seconds: seconds(), values: {} };
    for (const ask of asks) {
      const text = ask.querySelector("textarea");
      draft.values[ask.dataset.field] = text ? text.value : inputs(ask).filter((i) => i.checked).map((i) => i.value);
    }
    storage((store) => store.setItem(key, JSON.stringify(draft)));
  }

  function takeDraft() {
    const draft = storage((store) => JSON.parse(store.getItem(key)));
    if (!draft) return;
    visible = 1000 * draft.seconds;
    for (const ask of asks) {
      const value = draft.values[ask.dataset.field];
      const text = ask.querySelector("textarea");
      if (typeof value === "string" && text) text.value = value;
      else if (Array.isArray(value)) for (const input of inputs(ask)) input.checked = value.includes(input.value);
    }
  }

  function complain(ask, sentence) {
    const problem = ask.querySelector(".problem");
    problem.textContent = sentence;
    ask.setAttribute("aria-invalid", "true");
    go(ask, true);
  }

  function settle(ask) {
    ask.removeAttribute("aria-invalid");
    for (const one of ask.querySelectorAll("[aria-invalid]")) one.removeAttribute("aria-invalid");
    ask.querySelector(".problem").textContent = "";
  }

  // The label "none" excludes all others.
  function keepNoneAlone(input) {
    if (input.type !== "checkbox" || !input.checked) return;
    for (const other of inputs(input.closest(".ask")))
      if (other !== input && (other.value === "none") !== (input.value === "none")) other.checked = false;
  }

  function choose(digit) {
    const ask = current() || firstMissing() || visibleAsks()[0];
    const input = ask && inputs(ask).find((one) => one.dataset.key === digit);
    if (!input) return;
    input.checked = input.type === "radio" || !input.checked;
    input.dispatchEvent(new Event("change", { bubbles: true }));
    input.focus({ preventScroll: true });
    const label = input.closest("label").innerText.replace(/\s+/g, " ").trim();
    if (status) status.textContent = input.checked ? `${label} chosen` : `${label} not chosen`;
    if (input.type === "radio") {
      const rest = visibleAsks();
      const next = rest.slice(rest.indexOf(ask) + 1).find((one) => "if" in one.dataset || ("required" in one.dataset && !isAnswered(one)));
      if (next) go(next, true);
    }
  }

  // First to the marked question itself, unless the focus is in it or has just left it.
  function step(by) {
    const list = visibleAsks();
    const here = current();
    if (here && !here.contains(document.activeElement) && !("left" in here.dataset)) return go(here, true);
    const place = list.indexOf(current() || list[0]) + by;
    if (list[place]) go(list[place], true);
  }

  takeDraft();
  showWhatApplies();
  forgetDraftsBut(key);
  form.noValidate = true;
  const wrong = asks.find((ask) => !ask.hidden && ask.querySelector(".problem").textContent.trim());
  if (wrong) go(wrong, true);
  else {
    mark(firstMissing() || visibleAsks()[0]);
    document.getElementById("unit").focus({ preventScroll: true });
  }

  form.addEventListener("focusin", (event) => {
    const ask = event.target.closest(".ask");
    if (ask) {
      delete ask.dataset.left;
      mark(ask);
    }
  });
  form.addEventListener("change", (event) => {
    if (event.target instanceof HTMLInputElement) keepNoneAlone(event.target);
    showWhatApplies();
    const ask = event.target.closest(".ask");
    if (ask) settle(ask);
    keepDraft();
  });
  form.addEventListener("input", keepDraft);
  form.addEventListener("submit", (event) => {
    const ask = firstMissing();
    if (sending || ask) {
      event.preventDefault();
      if (ask) complain(ask, "Please answer this.");
      return;
    }
    sending = true;
    form.elements.seconds.value = seconds().toFixed(2);
    keepDraft();
    document.getElementById("send").setAttribute("aria-busy", "true");
    if (status) status.textContent = "Sending";
  });
  window.addEventListener("pageshow", () => {
    sending = false;
    document.getElementById("send").removeAttribute("aria-busy");
  });
  document.addEventListener("visibilitychange", () => {
    if (document.hidden && since !== null) {
      visible += performance.now() - since;
      since = null;
      keepDraft();
    } else if (!document.hidden && since === null) since = performance.now();
  });
  window.addEventListener("pagehide", () => { if (!sending) keepDraft(); });

  form.addEventListener("keys:choose", (event) => choose(event.detail));
  form.addEventListener("keys:step", (event) => step(event.detail));
} else if (document.body.classList.contains("settled")) {
  forgetDraftsBut("");
}

const help = document.getElementById("show-keys");
if (help && dialog) {
  help.hidden = false;
  help.addEventListener("click", () => dialog.showModal());
  const box = document.getElementById("single-keys");
  box.checked = singleKeys;
  box.addEventListener("change", () => {
    singleKeys = box.checked;
    permanentStorage((store) => (singleKeys ? store.removeItem(OFF) : store.setItem(OFF, "")));
  });
}

// Links, buttons and text fields handle Enter themselves.
document.addEventListener("keydown", (event) => {
  if (event.isComposing || event.altKey || event.metaKey || (dialog && dialog.open)) return;
  const at = event.target;
  const own = at instanceof HTMLElement && at.closest("button, a, summary, select");
  if (event.key === "Enter") {
    if (form && (event.ctrlKey || (!typing(at) && !own))) {
      event.preventDefault();
      form.requestSubmit();
    } else if (!form && !own && !typing(at)) follow("go");
    return;
  }
  if (event.ctrlKey) return;
  if (event.key === "Escape" && isText(at)) {
    const ask = at.closest(".ask");
    if (ask) ask.dataset.left = "";
    at.blur();
    return;
  }
  if (typing(at) || !singleKeys) return;
  if (form && /^[0-9]$/.test(event.key)) form.dispatchEvent(new CustomEvent("keys:choose", { detail: event.key }));
  else if (form && (event.key === "n" || event.key === "p"))
    form.dispatchEvent(new CustomEvent("keys:step", { detail: event.key === "n" ? 1 : -1 }));
  else if (event.key === "u") submitById("undo");
  else if (event.key === "i" && document.getElementById("instructions"))
    document.getElementById("instructions").toggleAttribute("open");
  else if (event.key === "?" && dialog) dialog.showModal();
  else return;
  event.preventDefault();
});

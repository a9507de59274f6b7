// The page's state, its link, and what happens when somebody does something.
"use strict";

(function () {
  const $ = (id) => document.getElementById(id);
  const { element, count } = conjoin;
  const inline = $("data");
  const source = inline ? conjoin.local(JSON.parse(inline.textContent)) : conjoin.served();
  const NUMBERS = ["fill_min", "fill_max", "words_min", "words_max"];
  const STATES = [["usable", "Usable"], ["rejected", "Rejected"], ["all", "All"]];
  const KEEPS = [["all", "All"], ["above", "≥ δ"], ["below", "< δ"]];
  let about, view, answer, usual, timer;

  // --- the link -------------------------------------------------------------------------------

  const deltaOf = (cut) => Number(((cut * about.top) / about.bins).toFixed(6));

  function fromLink() {
    const given = new URLSearchParams(location.hash.slice(1));
    const read = { ...usual };
    const sorts = sortChoices().map(([value]) => value);
    const among = (key, allowed) => { if (allowed.includes(given.get(key))) read[key] = given.get(key); };
    among("state", STATES.map(([value]) => value));
    among("keep", KEEPS.map(([value]) => value));
    among("sort", sorts);
    for (const key of ["label", "coordinator", "reason"]) read[key] = given.getAll(key).slice(0, 200);
    for (const key of [...NUMBERS, "offset"]) {
      if (/^\d{1,9}$/.test(given.get(key) ?? "")) read[key] = Number(given.get(key));
    }
    read.q = (given.get("q") ?? "").slice(0, 1000);
    const delta = Number.parseFloat(given.get("delta"));
    if (delta >= 0) read.cut = Math.min(about.bins, Math.round((delta * about.bins) / about.top));
    return read;
  }

  function toLink() {
    const parameters = conjoin.asParameters(view, usual);
    parameters.delete("cut");
    if (view.cut !== usual.cut) parameters.set("delta", deltaOf(view.cut));
    const hash = parameters.toString();
    history.replaceState(null, "", hash ? `#${hash}` : location.pathname + location.search);
  }

  // --- asking and showing ---------------------------------------------------------------------

  async function load() {
    toLink();
    showControls();
    $("rows").setAttribute("aria-busy", "true");
    try {
      answer = await source.view(view);
      if (view.offset >= answer.listed && view.offset > 0) {
        view.offset = Math.floor(Math.max(0, answer.listed - 1) / view.limit) * view.limit;
        return load();
      }
      $("error").hidden = true;
      showAnswer();
    } catch (error) {
      if (error.name === "AbortError") return;
      const gone = error instanceof TypeError;
      $("error-text").textContent = gone
        ? "No answer. Is `conjoin browse` still running in its terminal?" : error.message;
      $("error").hidden = false;
    }
    $("rows").removeAttribute("aria-busy");
  }

  function change(changes) {
    clearTimeout(timer);
    Object.assign(view, { offset: 0 }, changes);
    load();
  }

  function changeSoon(changes) {
    Object.assign(view, { offset: 0 }, changes);
    clearTimeout(timer);
    timer = setTimeout(load, 180);
  }

  function showAnswer() {
    $("rows").replaceChildren(...answer.rows.map((row) => conjoin.row(row, about)));
    $("rows").start = view.offset + 1;
    $("empty").hidden = answer.listed > 0;
    $("pages").hidden = answer.listed === 0;
    $("back").disabled = view.offset === 0;
    $("next").disabled = view.offset + view.limit >= answer.listed;
    const last = Math.min(view.offset + view.limit, answer.listed);
    $("where").textContent = `${count(view.offset + 1)}–${count(last)} of ${count(answer.listed)}`;
    showDelta();
  }

  // All that δ moves; it asks nobody, so it follows the slider at once.
  function showDelta() {
    const shares = conjoin.shares(answer, view.cut);
    const usable = Object.values(answer.usable).reduce((total, rows) => total + rows, 0);
    const digits = about.top >= 0.5 ? 3 : 4;
    $("delta-value").textContent = deltaOf(view.cut).toFixed(digits);
    $("delta").value = view.cut;
    $("delta").setAttribute("aria-valuetext", `δ ${deltaOf(view.cut)}: ${conjoin.percent(shares.accepted, shares.judged)} accepted`);
    $("share").textContent = conjoin.percent(shares.accepted, shares.judged);
    $("delta-count").textContent = shares.judged
      ? `${count(shares.accepted)} of ${count(shares.judged)} ${shares.judged < usable ? "scored" : "candidates"} reach δ`
      : usable ? "None of these candidates is in the scored sample." : "Rejects are not judged by δ.";
    $("delta-note").textContent = shares.judged < usable
      ? `Estimated from ${count(shares.judged)} of the ${count(usable)} candidates that the filter leaves.` : "";
    conjoin.drawDensity($("density"), answer, about.bins, view.cut);
    conjoin.drawChart($("chart"), shares);
    Array.from($("rows").children).forEach((item, index) => conjoin.judgeRow(item, answer.rows[index], view.cut));
    showStatus(usable);
  }

  function showStatus(usable) {
    const parts = [];
    if (view.state !== "rejected") parts.push(`${count(usable)} usable`);
    if (view.state !== "usable") parts.push(`${count(answer.rejected)} rejected`);
    let text = parts.join(", ");
    if (view.keep !== "all") {
      const all = about.judged < about.usable ? " of the scored sample" : "";
      text += ` · listed: ${count(answer.listed)}${all} ${view.keep === "above" ? "≥ δ" : "< δ"}`;
    }
    $("status").textContent = text;
    const partly = view.sort.endsWith("value") && about.judged < about.usable;
    $("sort-note").hidden = !partly;
    $("sort-note").textContent = partly
      ? `Only the ${count(about.judged)} candidates of the scored sample are sorted; the others follow in order.` : "";
  }

  // --- controls -------------------------------------------------------------------------------

  const valueName = () => (about.predictor ? "probability" : "probability per token");

  const sortChoices = () => [
    ["order", "as in the corpus"], ["-value", `${valueName()} ↓`], ["value", `${valueName()} ↑`],
    ...(about.predictor ? [["-score", "score ↓"], ["score", "score ↑"]] : []),
  ];

  function chip(kind, name, value, text, rows = null) {
    const input = element("input", { type: kind, name, value });
    input.addEventListener("change", () => {
      if (kind === "radio") change({ [name]: value });
      else change({ [name]: Array.from(document.querySelectorAll(`input[name=${name}]:checked`), (i) => i.value) });
    });
    const label = element("label", {}, input, element("span", {}, text));
    if (rows) {
      const [usable, rejected] = rows;
      label.append(element("span", { class: "rows number", "data-usable": usable, "data-rejected": rejected, "data-all": usable + rejected }));
    }
    return label;
  }

  function buildControls() {
    $("state").append(...STATES.map(([value, text]) => chip("radio", "state", value, text)));
    $("keep").append(...KEEPS.map(([value, text]) => chip("radio", "keep", value, text)));
    for (const [name, counts] of [["label", about.labels], ["coordinator", about.coordinators], ["reason", about.reasons]]) {
      $(name).append(...counts.map(([value, ...rows]) => chip("checkbox", name, value ?? "", value ?? "none", rows)));
    }
    $("sort").append(...sortChoices().map(([value, text]) => element("option", { value }, text)));
    const bounds = { fill: about.fill_words, words: about.sentence_words };
    for (const key of NUMBERS) {
      const [least, most] = bounds[key.split("_")[0]];
      $(key).placeholder = key.endsWith("min") ? least ?? "" : most ?? "";
      $(key).addEventListener("input", () => {
        const value = $(key).value;
        changeSoon({ [key]: /^\d{1,9}$/.test(value) ? Number(value) : null });
      });
    }
    $("sort").addEventListener("change", () => change({ sort: $("sort").value }));
    $("q").addEventListener("input", () => changeSoon({ q: $("q").value.slice(0, 1000) }));
    $("delta").max = about.bins;
    $("delta").addEventListener("input", () => {
      view.cut = Number($("delta").value);
      if (answer) showDelta();
      if (view.keep === "all") { clearTimeout(timer); timer = setTimeout(toLink, 180); }
      else changeSoon({});
    });
    $("form").addEventListener("submit", (event) => event.preventDefault());
    for (const id of ["clear", "empty-clear"]) {
      $(id).addEventListener("click", () => change({ ...conjoin.FILTERS, keep: "all" }));
    }
    $("again").addEventListener("click", load);
    $("back").addEventListener("click", () => page(-1));
    $("next").addEventListener("click", () => page(1));
    $("help-open").addEventListener("click", () => $("help").showModal());
    $("copy").addEventListener("click", () => { toLink(); copyText($("copy"), location.href, "The link of this view"); });
    $("save").hidden = !source.selection;  // one file does not say where its rows are from
    $("save").addEventListener("click", showSelection);
    $("saving-copy").addEventListener("click", () =>
      copyText($("saving-copy"), $("saving-command").textContent, "The command"));
    $("theme").addEventListener("click", nextTheme);
  }

  function showControls() {
    for (const name of ["state", "keep"]) {
      for (const input of document.querySelectorAll(`input[name=${name}]`)) input.checked = input.value === view[name];
    }
    for (const name of ["label", "coordinator", "reason"]) {
      for (const input of document.querySelectorAll(`input[name=${name}]`)) input.checked = view[name].includes(input.value);
    }
    for (const rows of document.querySelectorAll(".chips .rows")) rows.textContent = count(Number(rows.dataset[view.state]));
    const fill = (field, value) => { if (document.activeElement !== field || String(value) !== field.value.trim()) field.value = value; };
    for (const key of NUMBERS) fill($(key), view[key] ?? "");
    if ($("q").value !== view.q) $("q").value = view.q;
    $("sort").value = view.sort;
    $("reasons").hidden = view.state === "usable" || !about.reasons.length;
    const active = [...conjoin.asParameters(view, usual).keys()];
    const filters = new Set(active.filter((key) => key in conjoin.FILTERS)).size;
    $("filter-count").textContent = filters ? `${filters} set` : "";
    $("clear").disabled = !filters;
  }

  function page(step) {
    const offset = view.offset + step * view.limit;
    if (!answer || offset < 0 || offset >= answer.listed) return;
    clearTimeout(timer);
    view.offset = offset;
    load().then(() => {
      // On a phone the list begins below the panels, on a desk at the top.
      if ($("rows").getBoundingClientRect().top < 0) document.querySelector("main").scrollIntoView();
    });
  }

  async function copyText(button, text, what) {
    const usualText = button.dataset.text ??= button.textContent;
    try {
      await navigator.clipboard.writeText(text);
      button.textContent = "Copied";
      setTimeout(() => { button.textContent = usualText; }, 1500);
    } catch {
      window.prompt(what, text);
    }
  }

  // The page writes nothing: it says which command would.
  async function showSelection() {
    try {
      const { command, note } = await source.selection(view);
      for (const id of ["saving-what", "saving-command", "saving-copy"]) $(id).hidden = command === null;
      $("saving-command").textContent = command ?? "";
      $("saving-note").textContent = note;
    } catch (error) {
      for (const id of ["saving-what", "saving-command", "saving-copy"]) $(id).hidden = true;
      $("saving-note").textContent = error instanceof TypeError
        ? "No answer. Is `conjoin browse` still running in its terminal?" : error.message;
    }
    $("saving").showModal();
  }

  // --- themes and keys ------------------------------------------------------------------------

  const THEMES = ["auto", "light", "dark"];

  function setTheme(theme) {
    document.documentElement.dataset.theme = theme;
    $("theme").textContent = `Theme: ${theme}`;
    try { localStorage.setItem("conjoin-theme", theme); } catch { /* a file may not remember */ }
  }

  function nextTheme() {
    const now = document.documentElement.dataset.theme;
    setTheme(THEMES[(THEMES.indexOf(now) + 1) % THEMES.length]);
  }

  function onKey(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || $("help").open) return;
    const field = event.target.closest("input, select, textarea"), kind = field?.type;
    if (event.key === "Escape" && field) { field.blur(); return; }
    const typing = kind === "search" || kind === "number";
    if (typing) return;
    const takesArrows = field && kind !== "checkbox";
    const does = {
      j: () => page(1), k: () => page(-1), "/": () => $("q").focus(), d: () => $("delta").focus(),
      "?": () => $("help").showModal(),
      ...(takesArrows ? {} : { ArrowRight: () => page(1), ArrowLeft: () => page(-1) }),
    }[event.key];
    if (!does) return;
    event.preventDefault();
    does();
  }

  // --- beginning ------------------------------------------------------------------------------

  function showAbout() {
    document.title = `${about.name} · conjoin browse`;
    $("name").textContent = about.name;
    const licences = about.licenses.map(([value]) => value ?? "unknown").join(", ");
    $("facts").textContent = `${count(about.usable)} candidates · ${count(about.rejected)} rejected · ${licences}`;
    $("delta-what").textContent = about.predictor
      ? "held against the predictor’s probability of the generated boundary"
      : "held against the generator’s own probability per token of the fill, exp(score): no predictor was given";
    $("delta-what").title = about.predictor ?? "";
    $("delta-top").textContent = about.top;
    const notices = [], warnings = [];
    if (about.sample) {
      const { rows, of, seed } = about.sample;
      notices.push(`This file holds a sample of ${count(rows)} of the corpus’s ${count(of)} rows (seed ${seed}).`);
    }
    for (const [expression, { why }] of Object.entries(about.terms)) {
      if (why) warnings.push(`Licence ${expression}: do not pass text on; ${why}.`);
    }
    $("notices").append(...notices.map((text) => element("p", {}, text)),
      ...warnings.map((text) => element("p", { class: "warning" }, text)));
  }

  async function begin() {
    let theme = "auto";
    try { theme = localStorage.getItem("conjoin-theme") ?? "auto"; } catch { /* as the system has it */ }
    setTheme(THEMES.includes(theme) ? theme : "auto");
    if (matchMedia("(max-width: 760px)").matches) $("filters").open = false;
    try {
      about = await source.about();
    } catch (error) {
      $("error-text").textContent = "No answer. Is `conjoin browse` still running in its terminal?";
      $("error").hidden = false;
      $("again").addEventListener("click", () => location.reload());
      return;
    }
    usual = { ...conjoin.VIEW, cut: Math.round((about.delta * about.bins) / about.top) };
    view = fromLink();
    showAbout();
    buildControls();
    document.addEventListener("keydown", onKey);
    window.addEventListener("hashchange", () => { view = fromLink(); load(); });
    await load();
  }

  begin();
})();

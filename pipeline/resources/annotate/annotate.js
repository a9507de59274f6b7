// The page: a sentence's words, what is marked in it, and what the server keeps.
"use strict";

(function () {
  const $ = (id) => document.getElementById(id);
  const GONE = "No answer. Is `conjoin annotate` still running in its terminal? What was said to be saved is.";
  let now = null, marked = null, begun = 0, busy = false, turning = false;

  function element(name, className, text) {
    const made = document.createElement(name);
    if (className) made.className = className;
    if (text !== undefined) made.textContent = text;
    return made;
  }

  const url = (path) => `${path}?${new URLSearchParams(location.search)}`;

  // --- asking the server ----------------------------------------------------------------------

  async function ask(path, body) {
    if (busy) return;
    busy = true;
    try {
      const given = body === undefined ? undefined : JSON.stringify(body);
      const answer = await fetch(url(path), path === "api/now" ? {} : { method: "POST", body: given });
      if (answer.ok) {
        now = await answer.json();
        complain("");
        build();
      } else complain(await answer.text());
    } catch {
      complain(GONE);
    } finally {
      busy = false;
    }
  }

  const decide = (coordinator, conjuncts) => ask("api/decide", {
    sentence_id: now.sentence.id, coordinator, conjuncts, seconds: (performance.now() - begun) / 1000,
  });

  function complain(text) {
    $("error").textContent = text;
    $("error").hidden = !text;
  }

  // --- making and showing ---------------------------------------------------------------------

  function build() {
    const sentence = now.sentence;
    $("work").hidden = sentence === null;
    $("end").hidden = sentence !== null;
    $("bar").max = now.of;
    $("bar").value = now.done;
    $("said").textContent = now.said;
    turning = false;
    for (const name of ["save", "none", "turn", "aside"]) $(name).disabled = sentence === null;
    marked = sentence === null ? null : selection.begun(sentence);
    begun = performance.now();
    $("question").hidden = sentence === null;
    $("over").hidden = sentence !== null;
    if (sentence === null) { show(); return; }
    $("asked").textContent = sentence.words[sentence.coordinator];
    const left = sentence.open.length;
    $("where").textContent = `Sentence ${sentence.number} of ${now.of}` + (left > 1 ? `, ${left} coordinators to go` : "");
    $("words").replaceChildren(...sentence.words.map((word, at) => {
      const made = element("button", "word", word);
      made.type = "button";
      made.tabIndex = -1;
      made.dataset.at = at;
      return made;
    }));
    $("structures").replaceChildren(...sentence.structures.map((spans) => element("li", "", bracketed(sentence.words, spans))));
    show();
    focusOn(sentence.coordinator);
  }

  const bracketed = (words, spans) => words.slice(spans[0][0], spans[spans.length - 1][1]).map((word, index) => {
    const at = index + spans[0][0];
    return `${spans.some(([start]) => start === at) ? "[" : ""}${word}${spans.some(([, end]) => end === at + 1) ? "]" : ""}`;
  }).join(" ");

  function show() {
    $("undo").disabled = !now.undo && !marked?.before;
    if (marked === null) return;
    $("turn").setAttribute("aria-pressed", turning);
    const spans = selection.conjuncts(marked);
    const whole = selection.isComplete(marked);
    for (const each of $("words").children) {
      const at = Number(each.dataset.at);
      const own = spans.findIndex(([start, end]) => start <= at && at < end);
      const kinds = ["word"];
      if (at === marked.coordinator) kinds.push("asked");
      else if (now.sentence.coordinators.includes(at)) kinds.push("other");
      if (own >= 0) kinds.push(own % 2 ? "second" : "first");
      if (own >= 0 && spans[own][0] === at) kinds.push("begins");
      if (own >= 0 && spans[own][1] === at + 1) kinds.push("ends");
      if (!whole && (at === marked.start || at === marked.end - 1)) kinds.push("side");
      if (selection.placeAt(marked, at)) kinds.push("place");
      if (!whole && marked.turned.includes(at)) kinds.push("turned");
      each.className = kinds.join(" ");
      each.setAttribute("aria-pressed", own >= 0 || kinds.includes("side"));
      if (at === marked.coordinator) each.setAttribute("aria-current", "true");
    }
    $("save").disabled = !whole;
    $("hint").textContent = turning ? "Click the word that is of no conjunct, or is of one again." : whole ? bracketed(marked.words, spans)
      : marked.start !== null ? "Now the last word of what it joins, after it."
        : marked.end !== null ? "Now the first word of what it joins, before it."
          : "Click the first word of what it joins, and the last.";
  }

  function focusOn(at) {
    for (const each of $("words").children) each.tabIndex = Number(each.dataset.at) === at ? 0 : -1;
    $("words").children[at].focus();
  }

  // --- what a person does ---------------------------------------------------------------------

  function mark(next) {
    if (next === marked) return;
    marked = next;
    complain("");
    show();
  }

  function turn(at) {
    turning = false;
    mark(selection.turn(marked, at));
    show();
  }

  function click(at) {
    if (turning) { turn(at); return; }
    const before = selection.isComplete(marked);
    mark(selection.click(marked, at));
    if (!before && selection.isComplete(marked) && !selection.isOpen(marked)) save();
  }

  function save() {
    if (marked === null || busy) return;
    if (selection.isComplete(marked)) decide(marked.coordinator, selection.conjuncts(marked));
    else complain("Mark the first word of what it joins and the last, or say that it joins nothing (n).");
  }

  function undo() {
    if (marked?.before) mark(selection.undone(marked));
    else if (now?.undo) ask("api/undo");
  }

  $("words").addEventListener("click", (event) => {
    const chosen = event.target.closest("button");
    if (!chosen || busy) return;
    focusOn(Number(chosen.dataset.at));
    click(Number(chosen.dataset.at));
  });
  $("save").addEventListener("click", save);
  $("none").addEventListener("click", () => decide(now.sentence.coordinator, []));
  $("turn").addEventListener("click", () => { turning = !turning; show(); });
  $("aside").addEventListener("click", () => decide(null, []));
  $("undo").addEventListener("click", undo);
  $("help-open").addEventListener("click", () => $("help").showModal());

  // The word of the next line, or the one before, that stands nearest.
  function across(at, step) {
    const all = [...$("words").children], here = all[at].getBoundingClientRect();
    const middle = (box) => box.left + box.width / 2;
    const lines = all.map((each) => each.getBoundingClientRect());
    const beyond = lines.filter((box) => (step > 0 ? box.top > here.top + 2 : box.top < here.top - 2));
    if (!beyond.length) return at;
    const top = step > 0 ? Math.min(...beyond.map((box) => box.top)) : Math.max(...beyond.map((box) => box.top));
    let best = at, nearest = Infinity;
    lines.forEach((box, index) => {
      const far = Math.abs(middle(box) - middle(here));
      if (Math.abs(box.top - top) <= 2 && far < nearest) { nearest = far; best = index; }
    });
    return best;
  }

  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.altKey || event.metaKey || $("help").open) return;
    if (event.key === "?") $("help").showModal();
    else if (event.key === "u" || event.key === "Backspace") undo();
    else if (marked === null) return;
    else if (event.key === "n") $("none").click();
    else if (event.key === "s") $("aside").click();
    else {
      const focused = document.activeElement;
      const at = focused?.dataset.at === undefined ? null : Number(focused.dataset.at);
      const last = marked.words.length - 1;
      if (event.key === "Enter" && (at !== null || focused === document.body)) save();
      else if (at === null && event.key.startsWith("Arrow")) focusOn(marked.coordinator);
      else if (at === null) return;
      else if (event.key === "x") turn(at);
      else if (event.key === "ArrowRight") focusOn(Math.min(at + 1, last));
      else if (event.key === "ArrowLeft") focusOn(Math.max(at - 1, 0));
      else if (event.key === "ArrowDown") focusOn(across(at, 1));
      else if (event.key === "ArrowUp") focusOn(across(at, -1));
      else if (event.key === "Home") focusOn(0);
      else if (event.key === "End") focusOn(last);
      else return; // Space is a button's own
    }
    event.preventDefault();
  });

  ask("api/now");
})();

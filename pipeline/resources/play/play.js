// The page: trays, board, what is in the hand, and what the server says of the board.
"use strict";

(function () {
  const $ = (id) => document.getElementById(id);
  const GONE = "No answer. Is `conjoin play` still running in its terminal?";
  let set, board, hand = null;

  function element(name, className, text) {
    const made = document.createElement(name);
    if (className) made.className = className;
    if (text !== undefined) made.textContent = text;
    return made;
  }

  const ask = (path, more) => {
    const query = new URLSearchParams(location.search);
    for (const [key, value] of Object.entries(more ?? {})) query.set(key, value);
    return `${path}?${query}`;
  };

  // --- rounds ---------------------------------------------------------------------------------

  async function load(number) {
    const answer = await fetch(ask("api/set", { number })).catch(() => null);
    if (answer === null) return complain(GONE);
    if (!answer.ok) return number === 0 ? complain("There is no card set.") : load(0);
    set = await answer.json();
    board = play.newBoard(set);
    hand = null;
    history.replaceState(null, "", `#${set.number + 1}`);
    $("where").textContent = `${set.number + 1} of ${set.of}`;
    $("back").disabled = set.number === 0;
    $("next").disabled = set.number + 1 >= set.of;
    $("wildcard").value = "";
    $("said").replaceChildren();
    $("total").textContent = "Nothing scored yet.";
    complain("");
    build();
    show();
  }

  // --- making and showing ---------------------------------------------------------------------

  function button(className, data) {
    const made = element("button", className);
    made.type = "button";
    made.tabIndex = -1;
    Object.assign(made.dataset, data);
    return made;
  }

  function build() {
    const cards = [...Array(play.WILDCARD + 1).keys()];
    $("cards").replaceChildren(...cards.map((card) => button(`card ${play.kindOf(card)}`, { card })));
    const mark = (kind) => (name) => button(`mark ${kind}`, { mark: name });
    $("marks").replaceChildren(
      ...set.cases.map(mark("case")), ...set.connectives.map(mark("connective")), button("mark not", { not: "not" }));
    const places = [];
    for (let frame = 0; frame < board.frames.length; frame += 1) {
      const row = 2 * Math.floor(frame / set.columns), column = 2 * (frame % set.columns);
      places.push(place("frame", frame, row, column));
      if (column < 2 * (set.columns - 1)) places.push(place("right", frame, row, column + 1));
      if (row < 2 * (set.rows - 1)) places.push(place("down", frame, row + 1, column));
    }
    places.sort((one, other) => one.dataset.row - other.dataset.row || one.dataset.column - other.dataset.column);
    $("board").replaceChildren(...places);
    for (const group of ["cards", "marks", "board"]) $(group).firstElementChild.tabIndex = 0;
  }

  function place(kind, frame, row, column) {
    const made = button(kind === "frame" ? "frame" : `arrow ${kind}`, { kind, frame, row, column });
    made.style.gridRow = row + 1;
    made.style.gridColumn = column + 1;
    return made;
  }

  const shownWord = (card) => {
    const word = play.wordOf(board, card) || "any word";
    return board.negated.includes(card) ? `not ${word}` : word;
  };

  const placeName = ({ kind, frame }) => {
    const where = `row ${Math.floor(frame / set.columns) + 1}, column ${(frame % set.columns) + 1}`;
    return kind === "frame" ? where : `arrow ${kind === "down" ? "down" : "to the right"} from ${where}`;
  };

  function show() {
    for (const each of $("cards").children) {
      const card = Number(each.dataset.card);
      each.textContent = shownWord(card);
      each.classList.toggle("placed", board.frames.includes(card));
      each.setAttribute("aria-pressed", hand?.card === card);
      each.setAttribute("aria-label",
        `${shownWord(card)}, ${play.kindOf(card) === "wild" ? "card to write on" : play.kindOf(card)}${board.frames.includes(card) ? ", on the board" : ""}`);
    }
    for (const each of $("marks").children) {
      each.textContent = each.dataset.mark ?? "not";
      each.setAttribute("aria-pressed", hand !== null && hand.mark === each.dataset.mark && hand.not === each.dataset.not);
    }
    for (const each of $("board").children) {
      const { kind, frame } = each.dataset;
      const there = kind === "frame" ? board.frames[frame] : board[kind][frame];
      const text = there === null ? "" : kind === "frame" ? shownWord(there) : there;
      const type = kind !== "frame" || there === null ? "" : ` card ${play.kindOf(there)}`;
      const mark = kind === "frame" || !there ? "" : ` mark ${set.cases.includes(there) ? "case" : "connective"}`;
      each.className = `${kind === "frame" ? "frame" : `arrow ${kind}`}${type}${mark}`;
      each.replaceChildren(element("span", "", text));
      each.setAttribute("aria-label", `${placeName({ kind, frame: Number(frame) })}: ${text || "empty"}`);
    }
    $("hand").textContent = hand === null ? "Take a card or a mark." :
      `In your hand: ${hand.card !== undefined ? shownWord(hand.card) : (hand.mark ?? "not, for a predicate")}. Choose a frame.`;
    const known = play.remembered();
    $("used-count").textContent = known.used.length;
    $("used").textContent = known.used.join(", ");
    $("noted-count").textContent = known.noted.length;
    $("noted").replaceChildren(...known.noted.map((text) => element("li", "", text)));
    $("save").disabled = known.noted.length === 0;
  }

  // --- taking and putting down ----------------------------------------------------------------

  function take(data) {
    const same = hand !== null && hand.mark === data.mark && hand.not === data.not && String(hand.card) === String(data.card);
    if (same) hand = null;
    else if (data.card === undefined) hand = { mark: data.mark, not: data.not };
    else if (Number(data.card) === play.WILDCARD && !board.wildcard) { $("wildcard").focus(); return false; }
    else hand = { card: Number(data.card) };
    return hand !== null;
  }

  function put({ kind, frame }) {
    if (kind === "frame") {
      const there = board.frames[frame];
      if (hand?.not) { if (there !== null) play.turn(board, there); } else if (hand?.card !== undefined) play.place(board, frame, hand.card);
      else if (hand === null && there !== null) { hand = { card: there }; board.frames[frame] = null; return; } else return;
    } else if (hand?.mark) board[kind][frame] = hand.mark;
    else if (hand === null) board[kind][frame] = null;
    else return;
    hand = null;
  }

  // The first free place for what is in the hand, else the board's current one.
  function goToBoard() {
    const places = [...$("board").children];
    const fits = places.find(({ dataset: { kind, frame } }) => hand?.mark
      ? kind !== "frame" && board[kind][frame] === null && board.frames[frame] !== null
      : kind === "frame" && (hand?.not ? board.frames[frame] >= 6 : board.frames[frame] === null));
    focusIn($("board"), fits ?? places.find((each) => each.tabIndex === 0));
  }

  function focusIn(group, wanted) {
    for (const each of group.children) each.tabIndex = each === wanted ? 0 : -1;
    wanted.focus();
  }

  for (const group of ["cards", "marks"]) {
    $(group).addEventListener("click", (event) => {
      const chosen = event.target.closest("button");
      if (!chosen) return;
      const taken = take(chosen.dataset);
      show();
      if (taken && event.detail === 0) goToBoard(); // by the keyboard
    });
    $(group).addEventListener("keydown", (event) => {
      const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
      const all = [...$(group).children], at = all.indexOf(document.activeElement);
      if (!step || at < 0) return;
      event.preventDefault();
      focusIn($(group), all[(at + step + all.length) % all.length]);
    });
  }

  $("board").addEventListener("click", (event) => {
    const chosen = event.target.closest("button");
    if (!chosen) return;
    put(chosen.dataset);
    for (const each of $("board").children) each.tabIndex = each === chosen ? 0 : -1;
    show();
  });

  $("board").addEventListener("keydown", (event) => {
    const here = document.activeElement.dataset;
    if (here.kind === undefined) return;
    const there = here.kind === "frame" ? board.frames[here.frame] : null;
    if (event.key === "Delete" || event.key === "Backspace") {
      if (here.kind === "frame") board.frames[here.frame] = null; else board[here.kind][here.frame] = null;
      show();
    } else if (event.key === "n" && there !== null) {
      play.turn(board, there);
      show();
    } else if (event.key.startsWith("Arrow")) {
      event.preventDefault();
      const [down, right] = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[event.key];
      let row = Number(here.row), column = Number(here.column), found;
      const last = { row: 2 * set.rows, column: 2 * set.columns };
      do { // between four frames there is nothing
        row += down;
        column += right;
        found = $("board").querySelector(`[data-row="${row}"][data-column="${column}"]`);
      } while (!found && row >= 0 && column >= 0 && row < last.row && column < last.column);
      if (found) focusIn($("board"), found);
    }
  });

  $("wildcard").addEventListener("input", () => {
    board.wildcard = $("wildcard").value.trim();
    if (!board.wildcard) board.frames = board.frames.map((card) => (card === play.WILDCARD ? null : card));
    if (!board.wildcard && hand?.card === play.WILDCARD) hand = null;
    show();
  });
  $("wildcard").addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || !board.wildcard) return;
    event.preventDefault(); // else the frame that is gone to is pressed, too
    hand = { card: play.WILDCARD };
    show();
    goToBoard();
  });

  // --- scoring --------------------------------------------------------------------------------

  function complain(text) {
    $("error").textContent = text;
    $("error").hidden = !text;
  }

  async function score() {
    complain("");
    try {
      const answer = await fetch(ask("api/score"), { method: "POST", body: JSON.stringify(board) });
      if (!answer.ok) return complain(await answer.text());
      tell(await answer.json());
    } catch {
      complain(GONE);
    }
  }

  function tell(verdicts) {
    const stars = verdicts.reduce((sum, each) => sum + (each.grade === "?" ? 0 : each.grade.length), 0);
    $("total").textContent = verdicts.length
      ? `${stars} ☆ in ${verdicts.length} ${verdicts.length === 1 ? "sentence" : "sentences"}`
      : "No sentence yet: put a mark between two cards.";
    const starred = verdicts.filter((each) => each.grade !== "?");
    const cards = starred.flatMap((each) => each.frames).map((frame) => play.wordOf(board, board.frames[frame]));
    play.remember("used", cards);
    $("said").replaceChildren(...verdicts.map((each) => {
      const item = element("li");
      item.append(element("span", each.grade === "?" ? "grade" : "grade star", each.grade), element("span", "sentence", each.sentence));
      if (each.feedback) item.append(element("span", "quiet", each.feedback));
      if (each.unknown) {
        const note = element("button", "note", "Note it");
        note.type = "button";
        note.addEventListener("click", () => { play.remember("noted", [each.sentence]); note.disabled = true; note.textContent = "Noted"; show(); });
        item.append(note);
      }
      return item;
    }));
    show();
  }

  $("save").addEventListener("click", () => {
    const text = play.remembered().noted.map((each) => `${each}\n`).join("");
    const link = element("a");
    link.href = URL.createObjectURL(new Blob([text], { type: "text/plain" }));
    link.download = "noted-sentences.txt";
    link.click();
    URL.revokeObjectURL(link.href);
  });
  $("forget").addEventListener("click", () => { play.forget(); show(); });
  $("score").addEventListener("click", score);
  $("clear").addEventListener("click", () => {
    board = { ...play.newBoard(set), wildcard: board.wildcard };
    hand = null;
    show();
  });
  $("back").addEventListener("click", () => load(set.number - 1));
  $("next").addEventListener("click", () => load(set.number + 1));
  $("help-open").addEventListener("click", () => $("help").showModal());

  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.altKey || event.metaKey || $("help").open) return;
    if (event.key === "Escape" && hand !== null) { hand = null; show(); }
    if (event.target.tagName === "INPUT") { if (event.key === "Escape") event.target.blur(); return; }
    const group = { w: "cards", m: "marks", b: "board" }[event.key];
    if (group) focusIn($(group), [...$(group).children].find((each) => each.tabIndex === 0));
    else if (event.key === "s") score();
    else if (event.key === "?") $("help").showModal();
    else return;
    event.preventDefault();
  });

  load(/^#[1-9]\d{0,5}$/.test(location.hash) ? Number(location.hash.slice(1)) - 1 : 0);
})();

// What lies on the board, and what the browser remembers; nothing here touches the page.
"use strict";

const play = {};

play.WILDCARD = 11;

play.newBoard = (set) => ({
  nouns: set.nouns, predicates: set.predicates, wildcard: "", negated: [],
  frames: Array(set.rows * set.columns).fill(null),
  right: Array(set.rows * set.columns).fill(null),
  down: Array(set.rows * set.columns).fill(null),
});

play.kindOf = (card) => (card < 6 ? "noun" : card < play.WILDCARD ? "predicate" : "wild");

play.wordOf = (board, card) => [...board.nouns, ...board.predicates, board.wildcard][card];

// A card lies in one frame: from where it was it goes.
play.place = (board, frame, card) => {
  board.frames = board.frames.map((each) => (each === card ? null : each));
  board.frames[frame] = card;
};

play.turn = (board, card) => {
  if (play.kindOf(card) === "noun") return;
  board.negated = board.negated.includes(card)
    ? board.negated.filter((each) => each !== card) : [...board.negated, card];
};

// --- what is remembered, in this browser alone ----------------------------------------------

const KEY = "conjoin-play";

play.remembered = () => {
  try {
    const known = JSON.parse(localStorage.getItem(KEY)) ?? {};
    const texts = (list) => (Array.isArray(list) ? list.filter((each) => typeof each === "string") : []);
    return { used: texts(known.used), noted: texts(known.noted) };
  } catch {
    return { used: [], noted: [] };
  }
};

play.remember = (name, texts) => {
  const known = play.remembered();
  known[name] = [...new Set([...known[name], ...texts])].sort();
  try { localStorage.setItem(KEY, JSON.stringify(known)); } catch { /* a browser may keep nothing */ }
};

play.forget = () => { try { localStorage.removeItem(KEY); } catch { /* nothing was kept */ } };

// What is marked in a sentence: functions of what is marked and an event; nothing here touches the page.
"use strict";

const selection = {};

// Of a sentence as the server sends it; `flipped` are places, and `turned` words, of which a person said
// the other than what they were.
selection.begun = (sentence) => {
  const { words, coordinator, places, beside, proposal } = sentence;
  const start = proposal.length ? proposal[0][0] : null;
  const end = proposal.length ? proposal[proposal.length - 1][1] : null;
  return { words, coordinator, places, beside, start, end, flipped: [], turned: [], before: null, proposed: proposal.length > 0 };
};

const changed = (marked, change) => ({ ...marked, ...change, before: marked });
const turned = (list, item) => (list.includes(item) ? list.filter((each) => each !== item) : [...list, item]);

// The place that a word is of, if it lies inside what is marked so far.
selection.placeAt = (marked, word) => marked.places.find((place) => place.start <= word && word < place.end && (
  place.start < marked.coordinator
    ? marked.start !== null && marked.start < place.start
    : marked.end !== null && place.end < marked.end));

selection.click = (marked, word) => {
  const place = selection.placeAt(marked, word);
  if (place) return changed(marked, { flipped: turned(marked.flipped, place.start) });
  if (word < marked.coordinator) return changed(marked, { start: word });
  if (word > marked.coordinator) return changed(marked, { end: word + 1 });
  return marked;
};

selection.isComplete = (marked) => marked.start !== null && marked.end !== null;

// Of no conjunct from now on, or of one again; where the structure ends may be said later.
selection.turn = (marked, word) =>
  (word === marked.coordinator ? marked : changed(marked, { turned: turned(marked.turned, word) }));

selection.undone = (marked) => marked.before;

// Whether a person must look before it is saved.
selection.isOpen = (marked) => marked.proposed ||
  marked.places.some((place) => marked.start < place.start && place.end < marked.end);

// Runs of words between the ends that link no conjuncts, as [start, end).
selection.conjuncts = (marked) => {
  if (!selection.isComplete(marked)) return [];
  const { start, end, coordinator, beside } = marked;
  const out = new Set();
  const leave = (from, to) => { for (let at = from; at < to; at += 1) out.add(at); };
  leave(Math.max(beside[0], start + 1), Math.min(beside[1], end - 1));
  for (const place of marked.places) {
    const inside = start < place.start && place.end < end;
    if (inside && place.ends !== marked.flipped.includes(place.start)) leave(place.start, place.end);
  }
  for (const word of marked.turned) {
    if (word <= start || word >= end - 1) continue;
    if (out.has(word)) out.delete(word); else out.add(word);
  }
  out.add(coordinator);
  const found = [];
  for (let at = start; at < end; at += 1) {
    if (out.has(at)) continue;
    const last = found[found.length - 1];
    if (last && last[1] === at) last[1] = at + 1; else found.push([at, at + 1]);
  }
  return found;
};

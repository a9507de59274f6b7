// Where the page's rows come from: its server, or the page itself. The filters of a page that is one
// file stand here; they are the same as in table.py, and a test compares the two.
"use strict";
window.conjoin = {};

conjoin.FILTERS = {
  state: "usable", label: [], coordinator: [], reason: [],
  fill_min: null, fill_max: null, words_min: null, words_max: null, q: "",
};
conjoin.VIEW = { ...conjoin.FILTERS, sort: "order", keep: "all", cut: 0, offset: 0, limit: 20 };

// The view as the parameters of a URL, without what is as usual.
conjoin.asParameters = function (view, usual = conjoin.VIEW) {
  const parameters = new URLSearchParams();
  for (const [key, value] of Object.entries(view)) {
    if (Array.isArray(value)) for (const one of value) parameters.append(key, one);
    else if (value !== null && value !== usual[key]) parameters.set(key, value);
  }
  return parameters;
};

conjoin.served = function () {
  let asking = null;
  const token = new URLSearchParams(location.search).get("token") ?? "";
  async function get(path, parameters, signal) {
    parameters.set("token", token);
    const response = await fetch(`${path}?${parameters}`, { signal });
    if (!response.ok) throw new Error(`The server refused this question (${response.status}).`);
    return response.json();
  }
  return {
    about: () => get("api/corpus", new URLSearchParams()),
    // Only the latest question matters: an older one still under way is given up.
    view: (view) => {
      if (asking) asking.abort();
      asking = new AbortController();
      return get("api/view", conjoin.asParameters(view), asking.signal);
    },
    selection: (view) => get("api/select", conjoin.asParameters(view)),
  };
};

conjoin.local = function (data) {
  return {
    about: async () => data.about,
    view: async (view) => conjoin.answer(data.rows, data.about.bins, view),
  };
};

// Lower case as the database has it: letter by letter, without a rule for the end of a word.
conjoin.lower = function (text) {
  return Array.from(text, (letter) => (letter === "İ" ? "i" : letter.toLowerCase())).join("");
};

conjoin.matches = function (row, view) {
  const usable = row.reason === null;
  if (view.state !== "all" && usable !== (view.state === "usable")) return false;
  if (view.label.length && !view.label.includes(row.label)) return false;
  if (view.coordinator.length && !view.coordinator.includes(conjoin.lower(row.word ?? ""))) return false;
  if (view.reason.length && !usable && !view.reason.includes(row.reason)) return false;
  if (view.fill_min !== null && row.fill_words < view.fill_min) return false;
  if (view.fill_max !== null && row.fill_words > view.fill_max) return false;
  if (view.words_min !== null && row.words.length < view.words_min) return false;
  if (view.words_max !== null && row.words.length > view.words_max) return false;
  return conjoin.lower(row.text).includes(conjoin.lower(view.q));
};

conjoin.answer = function (rows, bins, view) {
  const found = rows.filter((row) => conjoin.matches(row, view));
  const usable = {}, unvalued = {}, histogram = {};
  let rejected = 0;
  for (const row of found) {
    if (row.reason !== null) { rejected += 1; continue; }
    usable[row.label] = (usable[row.label] ?? 0) + 1;
    if (!row.judged) continue;
    if (row.bin === null) unvalued[row.label] = (unvalued[row.label] ?? 0) + 1;
    else (histogram[row.label] ??= new Array(bins + 1).fill(0))[row.bin] += 1;
  }
  const reaches = (row) => row.bin !== null && row.bin >= view.cut;
  const listed = view.keep === "all" ? found
    : found.filter((row) => row.judged && reaches(row) === (view.keep === "above"));
  const key = view.sort.replace("-", ""), down = view.sort.startsWith("-") ? -1 : 1;
  if (key !== "order") {
    listed.sort((a, b) => {
      if (a[key] === null || b[key] === null) return (a[key] === null) - (b[key] === null) || a.number - b.number;
      return down * (a[key] - b[key]) || a.number - b.number;
    });
  }
  return {
    usable, rejected, histogram, unvalued, listed: listed.length,
    rows: listed.slice(view.offset, view.offset + view.limit),
  };
};

// What δ does to an answer, without asking again: [accepted, judged] of each label and of all.
conjoin.shares = function (answer, cut) {
  const labels = {}, sum = (counts) => counts.reduce((total, count) => total + count, 0);
  let accepted = 0, judged = 0;
  for (const label of Object.keys(answer.usable)) {
    const counts = answer.histogram[label] ?? [];
    const own = sum(counts.slice(cut)), all = sum(counts) + (answer.unvalued[label] ?? 0);
    labels[label] = [own, all];
    accepted += own;
    judged += all;
  }
  return { labels, accepted, judged };
};

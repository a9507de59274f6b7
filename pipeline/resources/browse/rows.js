// A row as elements. Text of the corpus only ever becomes text: no markup is made of it.
"use strict";

conjoin.element = function (tag, properties = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (name === "class") made.className = value;
    else if (name in made) made[name] = value;
    else made.setAttribute(name, value);
  }
  made.append(...children.filter((child) => child !== null));
  return made;
};

conjoin.count = (number) => number.toLocaleString("en-US");

conjoin.sentence = function (row) {
  const { element } = conjoin;
  const paragraph = element("p", { class: "sentence", dir: "auto" });
  const spans = row.conjuncts.length ? row.conjuncts : row.reference ? [row.reference] : [];
  const names = spans.map((_, index) => (index === 0 ? "reference" : "fill"));
  const text = (start, end) => row.pieces.slice(start, end).join("");
  let at = 0;
  const marks = spans.map(([start, end], index) => ({
    start, end, class: index === 0 ? "conjunct first" : "conjunct second", name: names[index],
  }));
  if (row.word !== null) {
    marks.push({ start: row.coordinator, end: row.coordinator + 1, class: "coordinator", name: "coordinator" });
  }
  marks.sort((a, b) => a.start - b.start);
  for (const mark of marks) {
    if (mark.start < at || mark.end > row.words.length) continue;  // damaged: `conjoin validate` tells
    if (at < mark.start) paragraph.append(text(at, mark.start));
    const inside = text(mark.start, mark.end);
    if (inside.startsWith(" ")) paragraph.append(" ");  // what is marked begins with its first word
    paragraph.append(element("span", { class: mark.class, role: "group", "aria-label": mark.name }, inside.replace(/^ /, "")));
    at = mark.end;
  }
  if (at < row.pieces.length) paragraph.append(text(at, row.pieces.length));
  return paragraph;
};

conjoin.row = function (row, about) {
  const { element } = conjoin;
  const number = (value) => (value === null ? "–" : value.toFixed(2).replace("-", "−"));
  const fact = (name, value, kind = "") => element("div", {}, element("dt", {}, name), element("dd", { class: kind }, value));
  const words = row.fill_words === 1 ? "1 word" : `${conjoin.count(row.fill_words)} words`;
  const made = about.made[row.generation];
  const item = element("li", { class: "row", tabIndex: -1 },
    element("div", { class: "margin" },
      element("span", { class: "label" }, row.label),
      row.reason === null
        ? element("span", { class: "value number" }, row.value === null ? "–" : row.value.toFixed(3))
        : null,
      element("span", { class: "verdict" })),
    element("div", { class: "body" },
      conjoin.sentence(row),
      row.reason === null ? null : element("p", { class: "reason" }, `rejected: ${row.reason}`),
      element("dl", { class: "facts" },
        fact("fill", element("span", {}, element("q", {}, row.fill), ` ${words}`), "fill"),
        fact("score", number(row.score), "number"),
        fact("follows", number(row.append), "number"),
        fact("comes before", number(row.prepend), "number")),
      element("dl", { class: "facts" },
        fact("source", row.sentence ?? "–"),
        fact("licence", row.license ?? "–"),
        fact("generation", made || row.generation || "–"),
        fact("row", conjoin.count(row.number + 1), "number"),
        ...row.donors.map((donor) =>
          fact("fill from", `${donor.sentence}, words ${donor.span[0] + 1}–${donor.span[1]}`)))));
  item.dataset.id = row.id;
  if (row.generation) item.querySelector("dl:last-child > div:nth-child(3)").title = row.generation;
  return item;
};

// Whether a row reaches δ, in words too: colour alone would not tell everybody.
conjoin.judgeRow = function (item, row, cut) {
  const verdict = item.querySelector(".verdict");
  if (row.reason !== null) {
    item.classList.add("rejected");
    verdict.textContent = "rejected";
    return;
  }
  const reaches = row.bin !== null && row.bin >= cut;
  item.classList.toggle("below", !reaches);
  verdict.textContent = row.bin === null ? "not scored" : reaches ? "≥ δ" : "< δ";
};

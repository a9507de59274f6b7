// What moves with δ: the density over the slider, the share accepted, and its chart by label.
"use strict";

const SVG = "http://www.w3.org/2000/svg";

conjoin.drawDensity = function (svg, answer, bins, cut) {
  const counts = new Array(bins + 1).fill(0);
  for (const own of Object.values(answer.histogram)) own.forEach((count, step) => { counts[step] += count; });
  // Two steps a bar; heights by the square root, so that a peak leaves the rest visible.
  const bars = [];
  for (let step = 0; step <= bins; step += 2) bars.push([step, counts[step] + (counts[step + 1] ?? 0)]);
  const most = Math.max(1, ...bars.map(([, count]) => count));
  svg.replaceChildren(...bars.filter(([, count]) => count).map(([step, count]) => {
    const height = Math.max(1, 40 * Math.sqrt(count / most)), bar = document.createElementNS(SVG, "rect");
    const set = { x: step, y: 40 - height, width: 1.6, height, class: step + 1 < cut ? "below" : "above" };
    for (const [name, value] of Object.entries(set)) bar.setAttribute(name, value);
    return bar;
  }));
};

conjoin.percent = function (part, whole) {
  if (!whole) return "–";
  const share = (100 * part) / whole;
  // No share is called all or nothing that is not.
  const digits = share > 99 && share < 100 ? 2 : 1;
  return `${share > 99.99 && share < 100 ? "> 99.99" : share.toFixed(share === 100 || share === 0 ? 0 : digits)} %`;
};

conjoin.drawChart = function (box, shares) {
  const { element } = conjoin;
  const labels = Object.keys(shares.labels).sort(
    (a, b) => shares.labels[b][1] - shares.labels[a][1] || a.localeCompare(b, "en"));
  const known = new Map(Array.from(box.children, (line) => [line.dataset.label, line]));
  box.replaceChildren(...labels.map((label) => {
    const [accepted, judged] = shares.labels[label];
    const line = known.get(label) ?? element("div", { class: "line", role: "listitem" },
      element("span", { class: "name" }, label),
      element("span", { class: "bar" }, element("span", { class: "part" })),
      element("span", { class: "percent number" }));
    line.dataset.label = label;
    line.querySelector(".part").style.width = `${judged ? (100 * accepted) / judged : 0}%`;
    line.querySelector(".percent").textContent = conjoin.percent(accepted, judged);
    line.title = `${conjoin.count(accepted)} of ${conjoin.count(judged)}`;
    return line;
  }));
};

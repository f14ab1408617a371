"use strict";
// The field "my score", and the line at a score in every plot over scores. Without scripts the page lacks only these.

const data = JSON.parse(document.getElementById("data").textContent);
const form = document.querySelector(".score");
const [field, slider] = form.querySelectorAll("input");
const answer = form.querySelector("output");
const plots = [...document.querySelectorAll(".plot[data-last]")];

/** The probability of at least a score. Beyond the end of the table MaxProb is unknown, unless no game goes there. */
const best = (score) => data.maxprob[score] ?? (score < data.expected.length ? undefined : 0);
const usual = (score) => data.expected[score] ?? 0;

function percent(p) {
  if (p === undefined) return "not in the table";
  if (p === 0 || p === 1) return `${100 * p}\u00a0%`;
  if (p > 0.9995) return `${(100 * p).toFixed(6)}\u00a0%`;
  if (p >= 1e-6) return `${Number((100 * p).toPrecision(4))}\u00a0%`;
  const [digits, exponent] = (100 * p).toExponential(2).split("e-");
  return `${digits}·10⁻${[...exponent].map((digit) => "⁰¹²³⁴⁵⁶⁷⁸⁹"[digit]).join("")}\u00a0%`;
}

const gained = (score) => Math.max(0, best(score) - usual(score));
const difference = (score) => `${(100 * gained(score)).toFixed(4)} percentage points`;
const bestLine = (score) => `MaxProb ${percent(best(score))}`;
const usualLine = (score) => `highest mean ${percent(usual(score))}`;
const bothLines = (score) => [bestLine(score), usualLine(score)];

/** What each figure says at a score, in lines. */
const readings = {
  maxprob: (score) => [bestLine(score)],
  curves: bothLines,
  logarithmic: bothLines,
  tails: bothLines,
  gain: (score) => [...bothLines(score), `+${difference(score)}`],
  relative: (score) => [...bothLines(score), `+${percent(gained(score) / usual(score))} relative`],
  distribution: (score) => [`exactly: ${percent(usual(score) - usual(score + 1))}`],
  scores: (score) => [`mean ${data.means[score]}`, `standard deviation ${data.deviations[score]}`],
};

function verdict(score) {
  const known = best(score) === undefined ? "" : ` (+${difference(score)})`;
  const percentile = 100 * (1 - usual(score + 1));
  const shown = percentile > 99.9999 ? "above 99.9999" : percentile.toFixed(percentile > 99 ? 4 : 1);
  return (
    `At least ${score} point${score === 1 ? "" : "s"}: ${bothLines(score).join(", ")}${known}. ` +
    `Percentile when playing for the highest mean: ${shown}.`
  );
}

/** Draw the line at a score in every plot, and beside it, in the plot that is pointed at, what it reads there. */
function show(score, pointedAt) {
  for (const plot of plots) {
    const { left, right, top, bottom, last } = plot.dataset;
    const [cursor, tip] = plot.querySelectorAll(".cursor, .tip");
    const within = score !== null && score <= last;
    const x = 100 * (Number(left) + ((right - left) * score) / last);
    cursor.hidden = !within;
    cursor.style.cssText = `left:${x}%;top:${100 * top}%;height:${100 * (bottom - top)}%`;
    tip.hidden = !within || plot !== pointedAt;
    if (tip.hidden) continue;
    tip.textContent = [`${score} points`, ...readings[plot.dataset.figure](score)].join("\n");
    const fits = (x / 100) * plot.clientWidth + tip.offsetWidth + 16 < plot.clientWidth;
    const side = fits ? `left:calc(${x}% + .5rem)` : `right:calc(${100 - x}% + .5rem)`;
    tip.style.cssText = `${side};top:calc(${100 * top}% + .5rem)`;
  }
}

/** The score in the field, or null if it holds none. */
function asked() {
  const score = Number(field.value);
  return field.value === "" || !Number.isInteger(score) || score < 0 || score > field.max ? null : score;
}

function answerField() {
  const score = asked();
  answer.textContent = score === null ? `A whole number from 0 to ${field.max}.` : verdict(score);
  if (score !== null) slider.value = score;
  show(score);
}

for (const plot of plots) {
  const scoreAt = (event) => {
    const { left, right, last } = plot.dataset;
    const box = plot.getBoundingClientRect();
    const share = ((event.clientX - box.left) / box.width - left) / (right - left);
    return Math.round(last * Math.min(1, Math.max(0, share)));
  };
  plot.insertAdjacentHTML("beforeend", '<i class="cursor" hidden></i><div class="tip" hidden></div>');
  for (const kind of ["pointermove", "pointerdown"]) plot.addEventListener(kind, (event) => show(scoreAt(event), plot));
  plot.addEventListener("pointerleave", () => show(asked()));
  plot.addEventListener("click", (event) => {
    field.value = scoreAt(event);
    answerField();
    show(scoreAt(event), plot);
  });
}
field.addEventListener("input", answerField);
slider.addEventListener("input", () => {
  field.value = slider.value;
  answerField();
});
form.addEventListener("submit", (event) => event.preventDefault());
form.hidden = false;
answerField();

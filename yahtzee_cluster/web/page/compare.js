/** The view in which strategies play many games against each other. */

import { ask, isGivenUp } from "./api.js";
import { choice, entry, h, percent, replace, tellProblem } from "./dom.js";
import { gameOf, rulesFields, strategiesFor } from "./settings.js";

let chosen = { rules: "yahtzee", names: ["expected", "greedy"], games: "100000", seed: "1" };
let running = null;
let parts = {};

/** Build the view. */
export async function show(view) {
  parts = { form: h("div", { class: "fields" }), result: h("div", { "aria-live": "polite" }) };
  replace(view, h("h1", {}, "Let strategies play each other"), h("section", { class: "panel", "aria-label": "Who plays" }, parts.form), parts.result);
  await draw();
}

/** Give up the games that are being played. */
export function leave() {
  running?.abort();
}

async function draw() {
  const { rules, names, games, seed } = chosen;
  await gameOf(rules);
  const known = strategiesFor(rules);
  chosen.names = names.map((name) => (known.some(([one]) => one === name) ? name : known[0][0]));
  const set = (changed) => {
    chosen = { ...chosen, ...changed };
    running?.abort();
    replace(parts.result);
    draw();
  };
  replace(parts.form,
    rulesFields("compare", rules, (one) => set({ rules: one }), tellProblem),
    chosen.names.map((name, at) => choice(`strategy-${at}`, `Player ${at + 1}`, at > 1 ? [["", "nobody"], ...known] : known, name,
      (one) => set({ names: chosen.names.map((other, place) => (place === at ? one : other)).filter(Boolean) }))),
    chosen.names.length < 6 && choice("strategy-new", "One more player", [["", "nobody"], ...known], "", (one) => set({ names: [...chosen.names, one].filter(Boolean) })),
    entry("games", "Games", { value: games, inputmode: "numeric", size: 8, onchange: (event) => (chosen.games = event.target.value.trim()) }),
    entry("seed", "Seed of the dice", { value: seed, inputmode: "numeric", size: 8, onchange: (event) => (chosen.seed = event.target.value.trim()) }),
    h("div", { class: "buttons" }, h("button", { type: "button", id: "do-compare", class: "main", onclick: play }, "Play the games"),
      h("a", { class: "button", href: `#play?${new URLSearchParams({ rules, seats: chosen.names })}` }, "Watch one game")));
}

async function play() {
  running?.abort();
  const asked = (running = new AbortController());
  tellProblem(null);
  const progress = h("progress", { max: 1, value: 0, "aria-label": "Games played" });
  const { rules, names, games, seed } = chosen;
  const number = (text) => (/^\d{1,9}$/.test(text) ? Number(text) : text);
  replace(parts.result, h("section", { class: "panel" }, h("p", {}, "The games are being played. ", h("button", { type: "button", id: "stop", onclick: () => {
    asked.abort();
    replace(parts.result);
  } }, "Stop")), progress));
  try {
    const found = await ask("duel", { rules, strategies: names, games: number(games), seed: number(seed), session: undefined },
      { signal: asked.signal, onProgress: (share) => (progress.value = share) });
    replace(parts.result, standings(found, (await gameOf(rules)).name));
  } catch (error) {
    if (isGivenUp(error)) return;
    replace(parts.result);
    tellProblem(error.message);
  }
}

function standings({ players, games, seed }, name) {
  const headings = ["player", "won", "tied", "lost", "share of wins", "95 % interval", "mean score"];
  return h("section", { class: "panel", "aria-label": "Results" }, h("div", { class: "scrolling", tabindex: 0, role: "region", "aria-label": "Results" },
    h("table", { class: "moves-table" }, h("caption", {}, `${games.toLocaleString("en")} games of ${name}, seed ${seed}; a tie is shared`),
      h("thead", {}, h("tr", {}, headings.map((one) => h("th", { scope: "col" }, one)))),
      h("tbody", {}, players.map((one) => h("tr", {}, h("th", { scope: "row" }, one.strategy),
        [one.win, one.tie, one.loss].map((chance) => h("td", { class: "number" }, percent(chance))),
        h("td", { class: "number" }, `${(100 * one.value).toFixed(2)} %`),
        h("td", { class: "number" }, one.interval.map((end) => (100 * end).toFixed(2)).join(" to "), " %"),
        h("td", { class: "number" }, one.mean.toFixed(2))))))));
}

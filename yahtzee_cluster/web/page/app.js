/** Shows the view that the address names. */

import { h, replace, tellProblem } from "./dom.js";
import * as compare from "./compare.js";
import * as explore from "./explore.js";
import * as play from "./play.js";
import * as practise from "./practise.js";
import * as review from "./review.js";
import { load } from "./settings.js";

const VIEWS = { play, review, practise, explore, compare };
const TITLES = new Map(Object.entries(VIEWS).map(([name, view]) => [view, name[0].toUpperCase() + name.slice(1)]));
let shown = null;

async function route() {
  const [name, query] = location.hash.slice(1).split(/\?(.*)/s);
  if (name === "main") return;
  const next = VIEWS[name] ?? play;
  shown?.leave?.();
  shown = next;
  const view = h("section", { id: "view" }, h("p", { class: "quiet" }, "One moment …"));
  document.getElementById("view").replaceWith(view);
  document.title = `${TITLES.get(next)} · Dice coach`;
  tellProblem(null);
  for (const link of document.querySelectorAll("nav a")) {
    if (VIEWS[link.hash.slice(1)] === next) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  try {
    await next.show(view, new URLSearchParams(query ?? ""));
  } catch (error) {
    if (view.isConnected) tellProblem(error.message);
  }
}

document.addEventListener("keydown", (event) => shown?.key?.(event));
addEventListener("hashchange", route);
try {
  await load();
  await route();
} catch (error) {
  replace(document.getElementById("view"), h("p", {}, "Load the page again once the server runs."));
  tellProblem(error.message);
}

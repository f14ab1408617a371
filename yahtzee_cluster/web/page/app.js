/** Shows the view that the address names. */

import { h, replace, tellProblem } from "./dom.js";
import * as compare from "./compare.js";
import * as explore from "./explore.js";
import * as play from "./play.js";
import * as practise from "./practise.js";
import * as review from "./review.js";
import { load } from "./settings.js";

const VIEWS = { play, review, practise, explore, compare };
const view = document.getElementById("view");
let shown = null;

async function route() {
  const [name, query] = location.hash.slice(1).split(/\?(.*)/s);
  if (name === "main") return;
  const next = VIEWS[name] ?? play;
  shown?.leave?.();
  shown = next;
  tellProblem(null);
  for (const link of document.querySelectorAll("nav a")) {
    if (VIEWS[link.hash.slice(1)] === next) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  try {
    await next.show(view, new URLSearchParams(query ?? ""));
  } catch (error) {
    tellProblem(error.message);
  }
}

document.addEventListener("keydown", (event) => shown?.key?.(event));
addEventListener("hashchange", route);
try {
  await load();
  await route();
} catch (error) {
  replace(view, h("p", {}, "The server does not answer. Is it still running?"));
  tellProblem(error.message);
}

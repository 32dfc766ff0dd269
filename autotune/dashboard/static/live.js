// Live changes: the server sends the parts that changed; the table is asked for again with its own filters.
import { morphInto } from "./morph.js";
import { redrawStale } from "./pictures.js";
import { catchUpWithLog } from "./log.js";
import { count, showLocalTimes } from "./times.js";

const REDRAW_AT_MOST_EVERY_MS = 3000;
let version = null;
let wasBest = null;

function show(element, html) {
  morphInto(element, html)((fresh) => {
    showLocalTimes(fresh);
    count(fresh);
  });
}

async function refreshTable() {
  const table = document.querySelector("[data-table]");
  if (!table) return;
  const answer = await fetch(table.dataset.table + location.search, { cache: "no-store" });
  if (answer.ok) show(table, await answer.text());
}

// Changes that come while a refresh is under way are shown by the next one.
function soon(refresh, everyMs) {
  let isBusy = false;
  let isWanted = false;
  return async () => {
    isWanted = true;
    if (isBusy) return;
    isBusy = true;
    while (isWanted) {
      isWanted = false;
      await refresh().catch(() => {});
      await new Promise((resolve) => setTimeout(resolve, everyMs));
    }
    isBusy = false;
  };
}

const tableSoon = soon(refreshTable, 500);
const picturesSoon = soon(async () => redrawStale(), REDRAW_AT_MOST_EVERY_MS);

function announceBest() {
  const best = document.querySelector("#best .headline");
  const text = best ? best.textContent.replace(/\s+/g, " ").trim() : "";
  if (wasBest !== null && text !== wasBest) document.getElementById("announce").textContent = `New best: ${text}`;
  wasBest = text;
}

function showParts(parts) {
  for (const [name, part] of Object.entries(parts)) {
    const element = document.getElementById(name);
    if (element && typeof part === "string") show(element, part);
  }
  if ("best" in parts) announceBest();
  if (parts.log) catchUpWithLog();
  if ("gpus" in parts) picturesSoon();
  if (!("table" in parts)) return;
  const isNew = version !== null && parts.table !== version;
  version = parts.table;
  if (!isNew) return;
  tableSoon();
  picturesSoon();
}

export function followPage(address) {
  const connection = document.getElementById("connection");
  const say = (text, isLost) => {
    connection.hidden = false;
    if (connection.textContent !== text) connection.textContent = text;
    connection.classList.toggle("lost", isLost);
  };
  version = document.body.dataset.version ? Number(document.body.dataset.version) : null;
  const events = new EventSource(address);
  events.addEventListener("open", () => say("live", false));
  events.addEventListener("error", () => say("connection lost, trying again", true));
  events.addEventListener("trouble", (event) => say(JSON.parse(event.data).sentence, true));
  events.addEventListener("parts", (event) => {
    say("live", false);
    showParts(JSON.parse(event.data));
  });
}

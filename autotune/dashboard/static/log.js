// A trial's log: searched on the server, and followed while it grows.

const MOST_LINES = 3000;
let isCatchingUp = false;

export function searchLog() {
  const form = document.querySelector("[data-search]");
  if (!form) return;
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const wanted = form.elements.text.value;
    const list = document.querySelector(".hits");
    list.hidden = false;
    try {
      const answer = await fetch(`${form.dataset.search}?text=${encodeURIComponent(wanted)}`);
      if (!answer.ok) throw new Error("the log could not be searched");
      const hits = await answer.json();
      const items = hits.map((hit) => hitItem(hit, wanted, form.dataset.lines));
      list.replaceChildren(item(counted(hits.length, wanted)), ...items);
    } catch (error) {
      list.replaceChildren(item(error.message));
    }
  });
}

function counted(hits, wanted) {
  if (hits === 1) return `1 line holds “${wanted}”`;
  return `${hits}${hits === 200 ? " or more" : ""} lines hold “${wanted}”`;
}

function item(text) {
  const element = document.createElement("li");
  element.textContent = text;
  element.className = "quiet";
  element.setAttribute("role", "status");
  return element;
}

function hitItem({ line, text }, wanted, lines) {
  const element = document.createElement("li");
  const link = document.createElement("a");
  link.href = `${lines}?line=${line}#L${line}`;
  link.textContent = `line ${line}`;
  element.append(link, " ", ...marked(text, wanted));
  return element;
}

function marked(text, wanted) {
  const at = text.toLowerCase().indexOf(wanted.toLowerCase());
  if (at < 0) return [text];
  const mark = document.createElement("mark");
  mark.textContent = text.slice(at, at + wanted.length);
  return [text.slice(0, at), mark, text.slice(at + wanted.length)];
}

export async function catchUpWithLog() {
  const log = document.querySelector("[data-log]");
  if (!log || isCatchingUp || !document.getElementById("follow")?.checked) return;
  isCatchingUp = true;
  try {
    for (let isMore = true; isMore;) {
      const answer = await fetch(`${log.dataset.log}?after=${log.dataset.end}`);
      if (!answer.ok) return;
      const page = await answer.json();
      append(log, page.lines);
      isMore = page.end > Number(log.dataset.end) && page.end < page.size;
      log.dataset.end = page.end;
    }
  } finally {
    isCatchingUp = false;
  }
}

function append(log, lines) {
  let number = Number(log.lastElementChild?.value ?? 0);
  for (const text of lines) {
    const line = document.createElement("li");
    line.textContent = text;
    line.value = ++number;
    line.id = `L${number}`;
    log.append(line);
  }
  while (log.childElementCount > MOST_LINES) log.firstElementChild.remove();
  if (lines.length) log.scrollTop = log.scrollHeight;
}

export function followLog() {
  const log = document.querySelector("ol.log");
  if (!log) return;
  if (log.querySelector(".wanted")) log.querySelector(".wanted").scrollIntoView({ block: "center" });
  else log.scrollTop = log.scrollHeight;
  document.getElementById("follow")?.addEventListener("change", catchUpWithLog);
}

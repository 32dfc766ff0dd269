// What the page does by itself: the reader's own time, copying, pictures, and live changes.
"use strict";

const REFRESH_AT_MOST_EVERY_MS = 1000;

function showLocalTimes(root) {
  for (const time of root.querySelectorAll("time[datetime]")) {
    const moment = new Date(time.dateTime);
    const today = moment.toDateString() === new Date().toDateString();
    const day = today ? {} : { year: "numeric", month: "short", day: "numeric" };
    time.textContent = moment.toLocaleString([], { ...day, hour: "2-digit", minute: "2-digit" });
    time.title = time.dateTime;
  }
}

function duration(seconds) {
  const whole = Math.round(seconds);
  if (whole < 60) return `${whole} s`;
  const two = (number) => String(number).padStart(2, "0");
  if (whole < 3600) return `${Math.floor(whole / 60)} min ${two(whole % 60)} s`;
  return `${Math.floor(whole / 3600)} h ${two(Math.floor((whole % 3600) / 60))} min`;
}

function tick() {
  for (const element of document.querySelectorAll("[data-since]")) {
    const seconds = (Date.now() - new Date(element.dataset.since)) / 1000;
    element.textContent = duration(Math.max(0, seconds));
  }
}

async function copyText(text) {
  if (navigator.clipboard && window.isSecureContext) return navigator.clipboard.writeText(text);
  const area = document.createElement("textarea");
  area.value = text;
  document.body.append(area);
  area.select();
  const copied = document.execCommand("copy");
  area.remove();
  if (!copied) throw new Error("the browser does not allow copying");
}

async function onClick(event) {
  const button = event.target.closest("[data-copy]");
  if (!button) return;
  try {
    await copyText(document.getElementById(button.dataset.copy).textContent);
    button.textContent = "Copied";
  } catch {
    button.textContent = "Select it by hand";
  }
  setTimeout(() => { button.textContent = "Copy"; }, 2000);
}

function themed(layout) {
  const style = getComputedStyle(document.body);
  const line = style.getPropertyValue("--line").trim();
  const axis = { gridcolor: line, linecolor: line, zerolinecolor: line, automargin: true };
  const themedLayout = {
    ...layout,
    autosize: true,
    paper_bgcolor: "rgba(0,0,0,0)",
    plot_bgcolor: "rgba(0,0,0,0)",
    font: { color: style.color, family: style.fontFamily, size: 13 },
    margin: { l: 8, r: 8, t: 8, b: 8 },
  };
  for (const name of Object.keys(layout)) {
    if (/^[xy]axis/.test(name)) themedLayout[name] = { ...axis, ...layout[name] };
  }
  return themedLayout;
}

const resizes = new ResizeObserver((entries) => {
  for (const entry of entries) Plotly.Plots.resize(entry.target);
});

async function drawPicture(element) {
  try {
    const answer = await fetch(element.dataset.figure);
    if (!answer.ok) throw new Error((await answer.json()).detail);
    const figure = await answer.json();
    await Plotly.react(element, figure.data, themed(figure.layout), { displayModeBar: false });
    resizes.observe(element);
  } catch (error) {
    if (element.classList.contains("js-plotly-plot")) return;
    element.textContent = `The picture could not be drawn: ${error.message}`;
    element.classList.add("failed");
  }
}

function drawPictures() {
  for (const element of document.querySelectorAll("[data-figure]")) drawPicture(element);
}

function replaceLivePart(old, fresh) {
  const scrolled = [...old.querySelectorAll(".scroll, pre, ul")].map((box) => [box.scrollLeft, box.scrollTop]);
  const focused = old.contains(document.activeElement) ? document.activeElement.getAttribute("href") : null;
  old.replaceChildren(...fresh.childNodes);
  [...old.querySelectorAll(".scroll, pre, ul")].forEach((box, place) => {
    if (scrolled[place]) [box.scrollLeft, box.scrollTop] = scrolled[place];
  });
  if (focused) old.querySelector(`[href="${CSS.escape(focused)}"]`)?.focus();
  showLocalTimes(old);
}

const shownParts = new Map();

async function refresh() {
  const answer = await fetch(location.href, { cache: "no-store" });
  if (!answer.ok) return;
  const page = new DOMParser().parseFromString(await answer.text(), "text/html");
  document.title = page.title;
  for (const old of document.querySelectorAll("[data-live]")) {
    const fresh = page.getElementById(old.id);
    if (!fresh || shownParts.get(old.id) === fresh.innerHTML) continue;
    shownParts.set(old.id, fresh.innerHTML);
    replaceLivePart(old, fresh);
  }
  tick();
  drawPictures();
}

// Changes that come while a refresh is under way are shown by the next one.
let isRefreshing = false;
let isWanted = false;

async function refreshSoon() {
  isWanted = true;
  if (isRefreshing) return;
  isRefreshing = true;
  while (isWanted) {
    isWanted = false;
    await refresh().catch(() => {});
    await new Promise((resolve) => setTimeout(resolve, REFRESH_AT_MOST_EVERY_MS));
  }
  isRefreshing = false;
}

function follow(address) {
  const connection = document.getElementById("connection");
  const show = (text, isLost) => {
    connection.hidden = false;
    if (connection.textContent !== text) connection.textContent = text;
    connection.classList.toggle("lost", isLost);
  };
  const events = new EventSource(address);
  events.addEventListener("open", () => show("live", false));
  events.addEventListener("error", () => show("connection lost, trying again", true));
  events.addEventListener("trouble", (event) => show(JSON.parse(event.data).sentence, true));
  events.addEventListener("study", () => { show("live", false); refreshSoon(); });
}

document.addEventListener("click", onClick);
for (const part of document.querySelectorAll("[data-live]")) shownParts.set(part.id, part.innerHTML);
showLocalTimes(document);
tick();
setInterval(tick, 1000);
drawPictures();
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", drawPictures);
if (document.body.dataset.events) follow(document.body.dataset.events);

// Pictures: drawn when they come into view, in the page's own colours; each with its table.

const NARROW_PX = 560;
const PAPER = { autosize: false, width: 660, height: 340 };
const drawn = new Map();
const stale = new Set();
const visible = new Set();
let plotly = null;

function loadPlotly() {
  plotly ??= new Promise((resolve, reject) => {
    const script = document.createElement("script");
    script.src = "/static/plotly.min.js";
    script.onload = () => resolve(window.Plotly);
    script.onerror = () => reject(new Error("the drawing library did not arrive"));
    document.head.append(script);
  });
  return plotly;
}

function addressOf(element) {
  const address = new URL(element.dataset.figure, location.href);
  for (const choice of element.closest("section").querySelectorAll("[data-choice]")) {
    if (choice.value) address.searchParams.set(choice.name, choice.value);
  }
  if (element.clientWidth < NARROW_PX) address.searchParams.set("narrow", "true");
  return address;
}

function themed(layout, isPrinted) {
  const style = getComputedStyle(document.body);
  const line = isPrinted ? "#c8ccd0" : style.getPropertyValue("--line").trim();
  const text = isPrinted ? "#000" : style.color;
  const ground = isPrinted ? "#fff" : style.getPropertyValue("--card").trim();
  const axis = { gridcolor: line, linecolor: line, zerolinecolor: line, automargin: true };
  const themedLayout = {
    ...layout,
    template: { data: { bar: [{ error_y: { color: text } }] }, layout: { annotationdefaults: { bgcolor: ground } } },
    autosize: true,
    paper_bgcolor: "rgba(0,0,0,0)",
    plot_bgcolor: "rgba(0,0,0,0)",
    font: { color: text, family: style.fontFamily, size: 13 },
    margin: { l: 8, r: 12, t: 24, b: 8 },
  };
  for (const name of Object.keys(layout)) {
    if (/^[xy]axis/.test(name)) {
      themedLayout[name] = { ...axis, ...layout[name], title: { font: { size: 13 }, standoff: 8, ...layout[name].title } };
    }
  }
  return themedLayout;
}

async function draw(element) {
  stale.delete(element);
  try {
    const [Plotly, answer] = await Promise.all([loadPlotly(), fetch(addressOf(element))]);
    const figure = await answer.json();
    if (!answer.ok) throw new Error(figure.detail);
    element.querySelector(".waiting")?.remove();
    element.classList.remove("failed");
    element.style.height = figure.layout.height ? `${figure.layout.height}px` : "";
    if (!figure.data.length) throw new Error("nothing to draw yet");
    const isFirst = !drawn.has(element);
    if (isFirst) element.textContent = "";
    drawn.set(element, figure);
    describe(element, figure);
    await Plotly.react(element, figure.data, themed(figure.layout), { displayModeBar: false, responsive: false });
    if (isFirst) openTrialOnClick(element);
    resizes.observe(element);
  } catch (error) {
    if (drawn.has(element) && error.message !== "nothing to draw yet") return;
    element.textContent = error.message === "nothing to draw yet" ? "Nothing to draw yet." : `Not drawn: ${error.message}.`;
    element.classList.add("failed");
    drawn.delete(element);
  }
}

function describe(element, figure) {
  const card = element.closest("section");
  card.querySelector(".says").textContent = figure.says;
  element.setAttribute("aria-label", `${figure.title}. ${figure.says}`);
  element.removeAttribute("aria-labelledby");
  card.querySelector("[data-json]").href = addressOf(element);
  const details = card.querySelector(".numbers");
  if (details.open) fillTable(details, figure.table);
}

function fillTable(details, { columns, rows }) {
  const table = document.createElement("table");
  const head = table.createTHead().insertRow();
  for (const column of columns) {
    const cell = document.createElement("th");
    cell.scope = "col";
    cell.textContent = column;
    head.append(cell);
  }
  const body = table.createTBody();
  for (const row of rows.slice(0, 1000)) {
    const line = body.insertRow();
    for (const value of row) line.insertCell().textContent = cellText(value);
  }
  details.querySelector(".scroll").replaceChildren(table);
}

function cellText(value) {
  if (value === null) return "–";
  return typeof value === "number" && !Number.isInteger(value) ? String(Number(value.toPrecision(5))) : String(value);
}

function openTrialOnClick(element) {
  const base = location.pathname.match(/^\/studies\/[^/]+$/);
  if (!base) return;
  element.on("plotly_click", ({ points: [point] }) => {
    if (typeof point.customdata === "number") location.href = `${base[0]}/trials/${point.customdata}`;
  });
}

const resizes = new ResizeObserver((entries) => {
  for (const { target } of entries) window.Plotly.Plots.resize(target);
});

export function drawWhenSeen() {
  const pictures = [...document.querySelectorAll("[data-figure]")];
  const seen = new IntersectionObserver((entries) => {
    for (const { target, isIntersecting } of entries) {
      visible[isIntersecting ? "add" : "delete"](target);
      if (isIntersecting && (!drawn.has(target) || stale.has(target))) draw(target);
    }
  }, { rootMargin: "200px" });
  for (const picture of pictures) {
    seen.observe(picture);
    const card = picture.closest("section");
    card.addEventListener("change", () => draw(picture));
    card.querySelector(".numbers").addEventListener("toggle", (event) => {
      if (event.target.open && drawn.has(picture)) fillTable(event.target, drawn.get(picture).table);
    });
  }
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => recolour(false));
  addEventListener("beforeprint", () => recolour(true));
  addEventListener("afterprint", () => recolour(false));
}

// Paper has its own colours and width, and the browser measures nothing again before it prints.
function recolour(isPrinted) {
  for (const [element, figure] of drawn) {
    const layout = { ...themed(figure.layout, isPrinted), ...(isPrinted && PAPER) };
    window.Plotly.react(element, figure.data, layout, { displayModeBar: false });
    if (!isPrinted) window.Plotly.Plots.resize(element);
  }
}

export function redrawStale() {
  for (const picture of document.querySelectorAll("[data-figure]")) stale.add(picture);
  for (const picture of visible) draw(picture);
}

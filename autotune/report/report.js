// Draws each picture in the reader's own colours, and again when those change.
const dark = matchMedia("(prefers-color-scheme: dark)");

function themed(layout) {
  const style = getComputedStyle(document.body);
  const line = style.getPropertyValue("--line").trim();
  const axis = { gridcolor: line, linecolor: line, zerolinecolor: line, automargin: true };
  const result = {
    ...layout,
    autosize: true,
    paper_bgcolor: "rgba(0,0,0,0)",
    plot_bgcolor: "rgba(0,0,0,0)",
    font: { color: style.color, family: style.fontFamily, size: 13 },
    margin: { l: 8, r: 12, t: 24, b: 8 },
  };
  for (const name of Object.keys(layout)) if (/^[xy]axis/.test(name)) result[name] = { ...axis, ...layout[name] };
  return result;
}

function drawAll() {
  for (const picture of document.querySelectorAll(".picture")) {
    const { data, layout } = JSON.parse(picture.previousElementSibling.textContent);
    if (layout.height) picture.style.height = `${layout.height}px`;
    Plotly.react(picture, data, themed(layout), { displayModeBar: false, responsive: true });
  }
}

dark.addEventListener("change", drawAll);
drawAll();

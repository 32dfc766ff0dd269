// Draws each picture in the reader's own colours, and again when those change.
const dark = matchMedia("(prefers-color-scheme: dark)");

const PAPER = { autosize: false, width: 660, height: 340 };

function themed(layout, isPrinted) {
  const style = getComputedStyle(document.body);
  const line = isPrinted ? "#c8ccd0" : style.getPropertyValue("--line").trim();
  const ground = isPrinted ? "#fff" : style.getPropertyValue("--card").trim();
  const text = isPrinted ? "#000" : style.color;
  const axis = { gridcolor: line, linecolor: line, zerolinecolor: line, automargin: true };
  const result = {
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
      result[name] = { ...axis, ...layout[name], title: { font: { size: 13 }, standoff: 8, ...layout[name].title } };
    }
  }
  return result;
}

// Paper has its own colours and width, and the browser measures nothing again before it prints.
function drawAll(isPrinted) {
  for (const picture of document.querySelectorAll(".picture")) {
    const { data, layout } = JSON.parse(picture.closest("section").querySelector("script").textContent);
    if (layout.height) picture.style.height = `${layout.height}px`;
    const shown = { ...themed(layout, isPrinted), ...(isPrinted && PAPER) };
    Plotly.react(picture, data, shown, { displayModeBar: false, responsive: true });
    if (!isPrinted) Plotly.Plots.resize(picture);
  }
}

dark.addEventListener("change", () => drawAll(false));
addEventListener("beforeprint", () => drawAll(true));
addEventListener("afterprint", () => drawAll(false));
drawAll(false);

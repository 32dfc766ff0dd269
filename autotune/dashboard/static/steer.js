// What a reader with the token may ask of the night; the answer is said beside the button.

async function ask(request, kept) {
  const answer = await fetch(document.body.dataset.requests, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify(request),
  }).catch(() => { throw new Error(`This page's server cannot be reached${kept}.`); });
  if (answer.status === 401) {
    throw new Error(`This page's link is no longer valid: open the new link that autotune printed${kept}.`);
  }
  const { sentence, detail } = await answer.json();
  if (answer.ok) return sentence;
  throw new Error(`Refused: ${detail}`);
}

// `kept` ends the sentence about a request that did not arrive: what became of what was typed.
async function askAndSay(request, place, buttons, kept = "") {
  buttons.forEach((button) => { button.disabled = true; });
  try {
    place.textContent = await ask(request, kept);
    place.classList.remove("refused");
    return true;
  } catch (error) {
    place.textContent = error.message;
    place.classList.add("refused");
    return false;
  } finally {
    buttons.forEach((button) => { button.disabled = false; });
  }
}

function isSure(button) {
  if (!button.dataset.sure || button.dataset.armed) return true;
  const label = button.textContent;
  button.dataset.armed = "yes";
  button.textContent = button.dataset.sure;
  setTimeout(() => {
    delete button.dataset.armed;
    button.textContent = label;
  }, 6000);
  return false;
}

export function askOnClick() {
  document.addEventListener("click", (event) => {
    const button = event.target.closest("[data-ask]");
    if (!button || !isSure(button)) return;
    const place = button.closest("section").querySelector(".said");
    askAndSay(JSON.parse(button.dataset.ask), place, [button]);
  });
}

function settingsOf(form) {
  const settings = {};
  for (const field of form.querySelectorAll("[name]")) {
    settings[field.name] = "json" in field.dataset ? JSON.parse(field.value) : Number(field.value);
  }
  return settings;
}

export function sendForms() {
  document.addEventListener("submit", async (event) => {
    const form = event.target;
    const isWish = "try" in form.dataset;
    if (!isWish && !("note" in form.dataset)) return;
    event.preventDefault();
    const trial = form.dataset.trial === undefined ? null : Number(form.dataset.trial);
    const request = isWish
      ? { kind: "try_settings", settings: settingsOf(form) }
      : { kind: "note", text: form.elements.text.value, trial };
    const kept = `; your ${isWish ? "settings are" : "text is"} still here`;
    const done = await askAndSay(request, form.querySelector(".said"), [...form.querySelectorAll("button")], kept);
    if (done && !isWish) form.reset();
  });
}

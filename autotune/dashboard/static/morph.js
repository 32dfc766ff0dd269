// Makes old markup equal to new by changing no more than differs: focus, scroll, selection, what is typed
// and what is unfolded stay as they are.

const READERS_OWN = new Set(["open"]);

export function morphInto(element, html) {
  const template = document.createElement("template");
  template.innerHTML = html;
  return (prepare) => {
    prepare(template.content);
    morphChildren(element, template.content);
  };
}

function morphChildren(old, fresh) {
  let at = old.firstChild;
  for (const wanted of [...fresh.childNodes]) {
    const known = wanted.id && [...old.children].find((child) => child.id === wanted.id);
    if (known && known !== at) {
      old.insertBefore(known, at);
      at = known;
    }
    if (at && isSame(at, wanted)) {
      const next = at.nextSibling;
      morph(at, wanted);
      at = next;
    } else {
      old.insertBefore(wanted, at);
    }
  }
  while (at) {
    const next = at.nextSibling;
    at.remove();
    at = next;
  }
}

function isSame(old, wanted) {
  return old.nodeName === wanted.nodeName && (old.id || "") === (wanted.id || "");
}

function morph(old, wanted) {
  if (old.nodeType !== Node.ELEMENT_NODE) {
    if (old.nodeValue !== wanted.nodeValue) old.nodeValue = wanted.nodeValue;
    return;
  }
  if (old.dataset.armed) return; // asks "sure?" at this moment
  for (const { name, value } of [...wanted.attributes]) {
    if (old.getAttribute(name) !== value) old.setAttribute(name, value);
  }
  for (const { name } of [...old.attributes]) {
    if (!wanted.hasAttribute(name) && !READERS_OWN.has(name)) old.removeAttribute(name);
  }
  morphChildren(old, wanted);
}

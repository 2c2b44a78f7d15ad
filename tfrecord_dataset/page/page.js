"use strict";
// Code on the page names the folder that the page is opened from.
const here = decodeURIComponent(location.pathname).replace(/\/[^/]*$/, "");
if (location.protocol === "file:" && /^[\w./~:@%+-]+$/.test(here)) {
  for (const code of document.querySelectorAll("[data-folder]")) {
    code.textContent = code.textContent.replaceAll(code.dataset.folder, here);
  }
}
for (const code of document.querySelectorAll("pre.command, #load pre")) {
  const button = document.createElement("button");
  button.textContent = "copy";
  button.addEventListener("click", async () => {
    await navigator.clipboard.writeText(code.textContent.trim());
    button.textContent = "copied";
  });
  const around = document.createElement("div");
  around.className = "copied";
  code.replaceWith(around);
  around.append(code, button);
}
const dialog = document.getElementById("enlarged");
for (const button of document.querySelectorAll(".gallery button")) {
  button.addEventListener("click", () => {
    const image = button.querySelector("img");
    dialog.querySelector("img").src = image.src;
    dialog.querySelector("img").alt = image.alt;
    dialog.querySelector("pre").textContent = button.parentElement.querySelector("pre").textContent;
    dialog.showModal();
  });
}
dialog.addEventListener("click", event => {
  if (event.target === dialog || event.target.classList.contains("close")) dialog.close();
});

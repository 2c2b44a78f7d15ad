"use strict";
// Code on the page names the folder that the page is opened from.
const here = decodeURIComponent(location.pathname).replace(/\/[^/]*$/, "");
if (location.protocol === "file:" && /^[\w./~:@%+-]+$/.test(here)) {
  for (const code of document.querySelectorAll("[data-folder]")) {
    code.textContent = code.textContent.replaceAll(code.dataset.folder, here);
  }
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

"use strict";
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
const choices = ["class", "split"].map(id => document.getElementById(id)).filter(Boolean);
function filter() {
  const [name, split] = choices.map(choice => choice.value);
  let shown = 0;
  for (const item of document.querySelectorAll(".gallery li")) {
    const classes = JSON.parse(item.dataset.classes);
    const fits = (name === "" || (name === "-" ? classes.length === 0 : classes.includes(name)))
      && (split === "" || item.dataset.split === split);
    item.hidden = !fits;
    shown += fits;
  }
  document.getElementById("shown").textContent = `${shown} shown`;
}
for (const choice of choices) choice.addEventListener("change", filter);
if (choices.length) filter();

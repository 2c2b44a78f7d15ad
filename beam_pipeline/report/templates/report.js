const choices = ["class", "split"].map(id => document.getElementById(id)).filter(Boolean);
function filter() {
  const [name, split] = choices.map(choice => choice.value);
  let shown = 0;
  for (const item of document.querySelectorAll("[data-classes]")) {
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

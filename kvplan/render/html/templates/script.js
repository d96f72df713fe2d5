"use strict";
for (const button of document.querySelectorAll("button[data-copies]")) {
  button.hidden = false;
  button.addEventListener("click", async () => {
    const source = document.getElementById(button.dataset.copies);
    try {
      await navigator.clipboard.writeText(source.textContent);
      button.textContent = "Copied";
    } catch {
      getSelection().selectAllChildren(source);
      button.textContent = "Selected";
    }
    setTimeout(() => { button.textContent = "Copy"; }, 1500);
  });
}
const tip = document.getElementById("tip");
document.addEventListener("pointermove", (event) => {
  const over = event.target.closest("[data-tip]");
  tip.hidden = !over;
  if (!over) return;
  tip.textContent = over.dataset.tip;
  const right = Math.min(event.clientX + 14, innerWidth - tip.offsetWidth - 8);
  tip.style.transform = `translate(${Math.max(8, right)}px, ${event.clientY + 18}px)`;
});
addEventListener("beforeprint", () => {
  for (const one of document.querySelectorAll("details:not(.long)")) one.open = true;
});

// The page works without this; it adds buttons that copy signatures and commands.
"use strict";
for (const box of document.querySelectorAll(".copy")) {
  const button = document.createElement("button");
  button.type = "button";
  button.textContent = "Copy";
  button.setAttribute("aria-label", "Copy " + box.dataset.what);
  button.addEventListener("click", async () => {
    const said = document.getElementById("said");
    try {
      await navigator.clipboard.writeText(box.textContent);
      said.textContent = "Copied " + box.dataset.what + ".";
      button.textContent = "Copied";
    } catch {
      getSelection().selectAllChildren(box);
      said.textContent = "Selected " + box.dataset.what + "; copy it with your keyboard.";
      button.textContent = "Selected";
    }
    setTimeout(() => { button.textContent = "Copy"; }, 2000);
  });
  box.after(button);
}

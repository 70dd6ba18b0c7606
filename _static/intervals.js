// An interval in a table stays on one line.
document.addEventListener("DOMContentLoaded", () => {
  for (const cell of document.querySelectorAll("article td")) {
    const texts = document.createTreeWalker(cell, NodeFilter.SHOW_TEXT);
    for (let text = texts.nextNode(); text; text = texts.nextNode())
      text.data = text.data.replace(/\[([−+-]?[\d.]+), ([−+-]?[\d.]+)\]/g, "[$1,\u00a0$2]");
  }
});

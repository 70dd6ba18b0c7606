// Names and roles that the theme's own markup gets wrong for those who hear the page.
document.addEventListener("DOMContentLoaded", () => {
  // A name that is not the visible text: without it, the text is the name.
  for (const named of document.querySelectorAll("details.hide > summary, .search-button-field"))
    named.removeAttribute("aria-label");
  for (const icon of document.querySelectorAll(".theme-switch")) {
    icon.removeAttribute("title");
    // Font Awesome may have made a picture of it already, with the name inside.
    icon.querySelector("title")?.remove();
    icon.setAttribute("aria-hidden", "true");
  }
  // A list whose children are no list items.
  for (const list of document.querySelectorAll(".citation-list")) list.removeAttribute("role");
  // The fold of a solution says so.
  for (const words of document.querySelectorAll(".tag_solution details.hide > summary p"))
    words.textContent = words.textContent.replace("code cell content", "the solution");
  // What scrolls can be reached by the keyboard.
  for (const block of document.querySelectorAll(".bd-article pre"))
    if (block.scrollWidth > block.clientWidth || block.scrollHeight > block.clientHeight)
      block.tabIndex = 0;
});

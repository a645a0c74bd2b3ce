// The theme fetches a list of versions, which browsers refuse for a site that is opened from files.
addEventListener("DOMContentLoaded", () => {
  const root = document.documentElement.dataset.content_root;
  const here = DOCUMENTATION_OPTIONS.VERSION;
  const links = [...new Set([...VERSIONS, here])].map((version) => {
    const link = document.createElement("a");
    link.className = "dropdown-item list-group-item list-group-item-action py-1";
    link.classList.toggle("active", version === here);
    link.setAttribute("role", "option");
    link.setAttribute("aria-selected", version === here);
    link.href = version === here ? `${root}index.html` : `${root}../${version}/index.html`;
    link.textContent = version;
    return link;
  });
  // The header has two: one of them for narrow windows.
  for (const menu of document.querySelectorAll(".version-switcher__menu")) menu.append(...links.map((link) => link.cloneNode(true)));
  for (const button of document.querySelectorAll(".version-switcher__button")) button.textContent = here;
});

// Give a name to the search, and let the keyboard scroll wide tables, which the theme does not.
document$.subscribe(() => {
  document.querySelector(".md-search")?.setAttribute("aria-label", "Search");
  setTimeout(() => {
    document.querySelectorAll(".md-typeset__scrollwrap").forEach((table, index) => {
      if (table.scrollWidth > table.clientWidth) {
        table.tabIndex = 0;
        table.setAttribute("role", "region");
        table.setAttribute("aria-label", `Table ${index + 1}`);
      }
    });
  });
});

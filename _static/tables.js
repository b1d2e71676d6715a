// Tables that a reader sorts and filters: simple-datatables does it, where a page has one.

const vendored = new URL("../vendor/simple-datatables.js", document.currentScript.src);

function sorted(table) {
  const rows = [...table.tBodies[0].rows];
  const isNumber = (i) => rows.every((row) => !isNaN(row.cells[i].textContent));
  const columns = [...table.tHead.rows[0].cells].map((_, i) => ({
    select: i,
    type: isNumber(i) ? "number" : "string",
  }));
  const frame = table.parentElement;
  // simple-datatables makes plain cells of row heads, which may have no scope.
  rows.forEach((row) => row.cells[0].removeAttribute("scope"));
  new simpleDatatables.DataTable(table, {
    columns,
    paging: false,
    fixedColumns: false,
    searchAnd: true,
    labels: {
      placeholder: "",
      searchTitle: "Filter the rows by words",
      noRows: "No row has all these words.",
      noResults: "No row has all these words.",
      info: "{rows} rows",
    },
    template: (options) => `
      <p class="mhsa-filter"><label>Rows with these words
        <input class="${options.classes.input}" type="search" title="${options.labels.searchTitle}"
          placeholder="training bfloat16"></label>
        <span class="${options.classes.info}" role="status"></span></p>
      <p id="sort-hint" hidden>sorts the rows by this column</p>
      <div class="${options.classes.container}"></div>`,
  });
  frame.removeAttribute("tabindex"); // its heads are buttons now, and it holds the filter too
}

document.addEventListener("DOMContentLoaded", () => {
  const tables = document.querySelectorAll("table[data-sorted]");
  if (!tables.length) return;
  const script = document.createElement("script");
  script.addEventListener("load", () => tables.forEach(sorted));
  document.head.append(Object.assign(script, { src: vendored }));
});

// Elements of the page. Every text goes in as text: no name of an operator or a device is ever read as HTML.

export function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key === "text") made.textContent = value;
    else made.setAttribute(key, value);
  }
  made.append(...children.filter((child) => child !== null));
  return made;
}

const LONG_TABLE = 40;

// {caption, head, rows}; long ones open when they are asked for.
export function table(data) {
  if (data.rows.length <= LONG_TABLE) return openTable(data);
  return details(`${data.caption} (${data.rows.length})`, () => [openTable(data)]);
}

// Columns whose cells all look like numbers stand to the right.
function openTable({ caption, head, rows }) {
  const isNumber = head.map((_, column) => rows.length > 0 && rows.every((row) => /^([-–]|[\d,.]+( \S+)?|)$/.test(row[column])));
  const cell = (name, text, column) => element(name, { text, class: isNumber[column] ? "number" : "text" });
  const headCells = head.map((text, column) => {
    const made = cell("th", text, column);
    made.setAttribute("scope", "col");
    return made;
  });
  return element(
    "div",
    { class: "table", tabindex: "0", role: "region", "aria-label": caption },
    element(
      "table",
      {},
      element("caption", { text: caption }),
      element("thead", {}, element("tr", {}, ...headCells)),
      element("tbody", {}, ...rows.map((row) => element("tr", {}, ...row.map((text, column) => cell("td", text, column))))),
    ),
  );
}

// Parts that open when they are asked for; `make` is called then, since long lists are slow to lay out.
export function details(summary, make) {
  const made = element("details", {}, element("summary", { text: summary }));
  made.addEventListener("toggle", () => made.open && made.childElementCount === 1 && made.append(...make()));
  return made;
}

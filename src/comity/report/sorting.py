"""The script of pages: a press on a column's heading sorts the table by it, a third one gives back the order.

Headings become buttons, so that the keyboard reaches them; without scripts, and on paper, nothing is missing.
"""

SORT = """
for (const table of document.querySelectorAll("table")) {
  const body = table.tBodies[0], first = body ? [...body.rows] : [];
  if (!table.tHead || first.length < 3) continue;
  const text = (row, i) => row.cells[i] ? row.cells[i].textContent.trim() : "";
  const number = (x) => x === "" || x === "-" ? NaN : parseFloat(x.replace(/,/g, "").replace(/^±/, ""));
  const heads = [...table.tHead.rows[0].cells];
  let column = -1, down = false;
  const compare = (a, b) => {
    const [x, y] = [text(a, column), text(b, column)], [p, q] = [number(x), number(y)];
    if (heads[column].classList.contains("number")) {
      return Number.isNaN(p) ? (Number.isNaN(q) ? 0 : 1) : Number.isNaN(q) ? -1 : down ? q - p : p - q;
    }
    return (down ? -1 : 1) * x.localeCompare(y, "en", { numeric: true });
  };
  heads.forEach((head, i) => {
    if (!head.textContent.trim()) return;
    const button = document.createElement("button"), largest = head.classList.contains("number");
    button.type = "button";
    button.append(...head.childNodes);
    head.append(button);
    button.onclick = () => {
      if (column !== i) { column = i; down = largest; } else if (down === largest) down = !largest;
      else column = -1;
      body.append(...(column < 0 ? first : [...first].sort(compare)));
      heads.forEach((other, k) => {
        if (k === column) other.setAttribute("aria-sort", down ? "descending" : "ascending");
        else other.removeAttribute("aria-sort");
      });
    };
  });
}
"""

const button = document.querySelector("#theme");
const root = document.documentElement;
const names = ["auto", "light", "dark"];
button.hidden = false;
button.addEventListener("click", () => {
  const next = names[(names.indexOf(root.dataset.theme ?? "auto") + 1) % names.length];
  if (next === "auto") delete root.dataset.theme;
  else root.dataset.theme = next;
  button.textContent = `Theme: ${next}`;
});

// Along the schedule: the row of the numbers that belongs to the window under the pointer.
for (const figure of document.querySelectorAll("figure[data-edges]")) {
  const edges = figure.dataset.edges.split(" ").map(Number);
  const [left, right, top, bottom] = figure.dataset.margins.split(" ").map(Number);
  const [head, ...rows] = [...figure.querySelectorAll("tr")].map((row) => [...row.cells].map((cell) => cell.textContent));
  const svgs = figure.querySelectorAll("svg");
  if (!svgs.length) continue;
  const readout = document.createElement("p");
  figure.querySelector("figcaption").append(readout);
  const rest = () => {
    readout.className = "readout hint";
    readout.textContent = "Point at the drawing for a window's numbers.";
  };
  rest();
  for (const svg of svgs) {
    const { width, height } = svg.viewBox.baseVal;
    const line = document.createElementNS(svg.namespaceURI, "line");
    line.setAttribute("class", "cursor");
    line.setAttribute("y1", top);
    line.setAttribute("y2", height - bottom);
    svg.append(line);
    svg.addEventListener("pointermove", (event) => {
      const box = svg.getBoundingClientRect();
      const share = (((event.clientX - box.left) * width) / box.width - left) / (width - left - right);
      const at = edges[0] + share * (edges.at(-1) - edges[0]);
      const row = Math.min(Math.max(edges.findLastIndex((edge) => edge <= at), 0), rows.length - 1);
      const place = left + Math.min(Math.max(share, 0), 1) * (width - left - right);
      line.setAttribute("x1", place);
      line.setAttribute("x2", place);
      line.style.visibility = "visible";
      readout.className = "readout";
      readout.textContent = rows[row].map((cell, column) => (column ? `${head[column]} ${cell}` : cell)).join(", ");
    });
    svg.addEventListener("pointerleave", () => {
      line.style.visibility = "hidden";
      rest();
    });
  }
}

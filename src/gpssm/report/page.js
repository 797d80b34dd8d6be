"use strict";
// Draws the charts of the page, in the colours of the reader's screen, and again when these change.
(() => {
  const LIGHT = {
    ink: "#1c2430", muted: "#77818f", line: "#d9dee5", ground: "#ffffff", blue: "#2563b8",
    orange: "#c2621b", green: "#2c8a50", purple: "#7a4fb5", red: "#b3261e", teal: "#0f7f86",
    band95: "rgba(37,99,184,0.17)", band50: "rgba(37,99,184,0.42)",
    shade: "rgba(110,120,135,0.16)",
  };
  const DARK = {
    ink: "#e6eaf0", muted: "#8f9bab", line: "#343d49", ground: "#1d232b", blue: "#7fb0f5",
    orange: "#f0a05a", green: "#6fcf97", purple: "#bd9af0", red: "#ff8a80", teal: "#5cc9d0",
    band95: "rgba(127,176,245,0.22)", band50: "rgba(127,176,245,0.46)",
    shade: "rgba(160,170,185,0.16)",
  };
  const PRINT_WIDTH = 660;
  const NARROW = 480; // pixels of a chart, below which it is not zoomed
  const dark = window.matchMedia("(prefers-color-scheme: dark)");
  const touched = window.matchMedia("(hover: none)");
  const read = (id) => JSON.parse(document.getElementById(id).textContent);
  // An array that several lines share stands once in the page: {"array": 3} is its place.
  const arrays = read("arrays");
  const whole = (value) => {
    if (Array.isArray(value)) return value.map(whole);
    if (!value || typeof value !== "object") return value;
    if ("array" in value) return arrays[value.array];
    return Object.fromEntries(Object.entries(value).map(([k, each]) => [k, whole(each)]));
  };
  const charts = whole(read("charts"));
  let printing = false;

  const colours = () => (dark.matches && !printing ? DARK : LIGHT);

  // "@ink" becomes the colour of that name wherever a colour stands. Names of users may begin so.
  const isColour = (key) => key.toLowerCase().endsWith("color");
  const coloured = (value, key = "") => {
    if (typeof value === "string" && isColour(key) && value.startsWith("@"))
      return colours()[value.slice(1)];
    if (Array.isArray(value)) return value.map((each) => coloured(each, key));
    if (value && typeof value === "object")
      return Object.fromEntries(Object.entries(value).map(([k, each]) => [k, coloured(each, k)]));
    return value;
  };

  const layoutOf = (figure, chart, width) => {
    const c = colours(), layout = coloured(figure.layout);
    const narrow = (width || 1000) < NARROW;
    for (const key of Object.keys(layout)) {
      if (!/^[xy]axis\d*$/.test(key)) continue;
      layout[key] = {
        gridcolor: c.line, linecolor: c.line, zerolinecolor: c.line, automargin: true,
        ...layout[key],
      };
    }
    return {
      ...layout,
      height: chart.height + (narrow ? 40 : 0), width: printing ? PRINT_WIDTH : undefined,
      autosize: !printing,
      paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)",
      font: { color: c.ink, size: narrow ? 11 : 12, family: "system-ui, sans-serif" },
      margin: { l: 50, r: 12, t: 8, b: 40 },
      legend: { orientation: "h", x: 0, y: 1.0, yanchor: "bottom", font: { size: 11 } },
      modebar: { bgcolor: "rgba(0,0,0,0)", color: c.muted, activecolor: c.ink },
      hoverlabel: { bgcolor: c.ground, bordercolor: c.line, font: { color: c.ink }, namelength: -1 },
      dragmode: narrow ? false : "zoom",
    };
  };

  // Names may be anything: a choice is known by its place.
  const chosen = (card) => [...card.querySelectorAll("select")].map((s) => s.selectedIndex).join("|");

  const plot = async (card, place) => {
    const chart = charts[card.dataset.chart], figure = chart.variants[chosen(card)];
    place.classList.toggle("failed", Boolean(figure.text));
    if (figure.text || !place.data) {
      Plotly.purge(place);
      place.textContent = figure.text || "";
      if (figure.text) return;
    }
    const buttons = !touched.matches && place.clientWidth >= NARROW; // else they would always show
    const config = {
      responsive: true, displaylogo: false, displayModeBar: buttons ? "hover" : false,
      showSendToCloud: false, plotlyServerURL: "", // the data of a report stay in the report
      modeBarButtonsToRemove: ["select2d", "lasso2d", "autoScale2d"],
    };
    await Plotly.react(
      place, coloured(figure.data), layoutOf(figure, chart, place.clientWidth), config,
    );
  };

  // A chart that fails says so in its place, and the others are drawn.
  const draw = async (card) => {
    const place = card.querySelector(".plot");
    if (!place.clientWidth) return; // folded away: drawn when it is opened
    try {
      await plot(card, place);
    } catch (error) {
      Plotly.purge(place);
      place.textContent = `This chart could not be drawn (${error.message}).`;
      place.classList.add("failed");
    }
  };

  const cards = [...document.querySelectorAll("[data-chart]")];
  const drawAll = () => Promise.all(cards.map(draw));

  for (const card of cards)
    for (const select of card.querySelectorAll("select"))
      select.addEventListener("change", () => draw(card));
  for (const each of document.querySelectorAll("details"))
    each.addEventListener("toggle", () => each.querySelectorAll("[data-chart]").forEach(draw));
  dark.addEventListener("change", drawAll);
  // On paper nothing can be opened any more: what is folded is printed too.
  const folded = [...document.querySelectorAll("details:not([open])")];
  const print = (begins) => {
    printing = begins;
    for (const each of folded) each.open = begins;
    return drawAll();
  };
  window.addEventListener("beforeprint", () => print(true));
  window.addEventListener("afterprint", () => print(false));
  drawAll().then(() => { document.documentElement.dataset.ready = "yes"; });
})();

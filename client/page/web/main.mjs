// Builds the page from the data that it carries: one plan, or two side by side.
import * as echarts from "echarts/core";
import { BarChart, CustomChart, LineChart, ScatterChart } from "echarts/charts";
import { DataZoomComponent, GridComponent, LegendComponent, MarkLineComponent, TooltipComponent } from "echarts/components";
import { CanvasRenderer } from "echarts/renderers";
import { bars, picture, search, timeline } from "./charts.mjs";
import { details, element, table } from "./dom.mjs";
import { followTheme, isDark, onTheme, toggleTheme } from "./theme.mjs";

echarts.use([
  BarChart,
  CanvasRenderer,
  CustomChart,
  DataZoomComponent,
  GridComponent,
  LegendComponent,
  LineChart,
  MarkLineComponent,
  ScatterChart,
  TooltipComponent,
]);

// Charts on the page, to draw again when colours or sizes change.
const charts = [];

// `height(width)`: pixels.
function chart(label, height, option) {
  const box = element("div", { class: "chart", role: "img", "aria-label": label, tabindex: "0" });
  charts.push({ box, height, option, drawn: null });
  return box;
}

function draw() {
  for (const one of charts) {
    const width = one.box.clientWidth;
    if (width === 0) continue;
    one.box.style.height = `${one.height(width)}px`;
    one.drawn ??= echarts.init(one.box, null, { renderer: "canvas" });
    one.drawn.resize();
    one.drawn.setOption(one.option(), { notMerge: true });
  }
}

// Left and right move along the timeline, plus and minus zoom, Home shows all of it.
function steerByKeys(box) {
  box.addEventListener("keydown", (event) => {
    const drawn = charts.find((one) => one.box === box).drawn;
    const { start, end } = drawn.getOption().dataZoom[0];
    const span = end - start;
    const shown = {
      ArrowLeft: [start - span / 4, end - span / 4],
      ArrowRight: [start + span / 4, end + span / 4],
      "+": [start + span / 4, end - span / 4],
      "-": [start - span / 2, end + span / 2],
      Home: [0, 100],
    }[event.key];
    if (shown === undefined) return;
    event.preventDefault();
    const width = Math.min(100, shown[1] - shown[0]);
    const from = Math.min(Math.max(0, shown[0]), 100 - width);
    drawn.dispatchAction({ type: "dataZoom", start: from, end: from + width });
  });
}

const scaled = (drawing) => (width) => Math.min(900, Math.max(60, (drawing.height * width) / drawing.width));
const byRows = (rows, each, rest) => () => rest + each * Math.max(rows, 1);

function pictureOf(label, drawing) {
  return [chart(label, scaled(drawing), () => picture(drawing)), ...drawing.notes.map((text) => element("p", { class: "note", text }))];
}

function stageDetails(stage) {
  return details(stage.title, () => [
    element("dl", {}, ...stage.layers.flatMap(([layer, names]) => [element("dt", { text: layer }), element("dd", { text: names.join(", ") })])),
    ...(stage.tensors.rows.length > 0 ? [table(stage.tensors)] : []),
  ]);
}

const MANY_STAGES = 16;

function allDetails(stages) {
  const made = () => stages.map(stageDetails);
  return stages.length <= MANY_STAGES ? made() : [details(`What ${stages.length} stages hold and send`, made)];
}

function timelineOf(view) {
  const data = view.timeline;
  const notes = data.notes.map((text) => element("p", { class: "note", text }));
  if (data.tasks.length === 0) return notes;
  const box = chart("Timeline of a step; arrow keys move, plus and minus zoom", byRows(data.rows.length, 26, 130), () => timeline(data));
  steerByKeys(box);
  return [box, ...notes];
}

const barsOf = (label, data) => chart(label, byRows(data.rows.length, 24, 80), () => bars(data));

function searchOf(view) {
  if (view.search.points.length === 0) return [];
  return [chart("Best plan and bound over the time of the search", () => 260, () => search(view.search))];
}

// id, heading, and what it shows of one plan; what shows nothing of any plan is left out.
const SECTIONS = [
  ["overview", "Overview", (view) => [element("p", { class: "headline", text: view.headline }), table(view.overview)]],
  ["assumptions", "Assumptions", (view) => [...(view.assumptions.length > 0 ? [element("ul", {}, ...view.assumptions.map((text) => element("li", { text })))] : [])]],
  ["stages", "Stages", (view) => [...pictureOf("Stages with their layers and the tensors between them", view.stage_picture), table(view.stages), ...allDetails(view.stage_details)]],
  ["devices", "Devices and links", (view) => [...pictureOf("Devices, their stages, and who talks to whom", view.machine_picture), ...view.traffic.map(table), details("The cluster", () => [element("pre", { text: view.cluster })])]],
  ["load", "Load", (view) => [barsOf("Load of each device by part", view.load), ...view.load_notes.map((text) => element("p", { class: "note", text }))]],
  ["memory", "Memory", (view) => [barsOf("Memory of each device by part, with limits", view.memory), ...view.memory_tables.map(table)]],
  ["timeline", "Timeline", timelineOf],
  ["search", "Search", (view) => [...searchOf(view), table(view.bounds)]],
  ["alternatives", "Alternatives", (view) => view.alternatives.map(table)],
  ["problem", "Problem", (view) => [details("The problem as it was solved", () => [element("pre", { text: view.problem })])]],
];

function section([id, heading, parts], views) {
  const columns = views.map((view) => element("div", { class: "plan" }, ...parts(view)));
  if (columns.every((column) => column.childElementCount === 0)) return null;
  return element("section", { id, "aria-labelledby": `${id}-heading` }, element("h2", { id: `${id}-heading`, text: heading }), element("div", { class: "plans" }, ...columns));
}

function page({ title, views, comparison }) {
  const sections = SECTIONS.map((one) => section(one, views)).filter((made) => made !== null);
  const theme = element("button", { type: "button", text: "Light or dark" });
  theme.addEventListener("click", toggleTheme);
  const links = sections.map((made) => element("a", { href: `#${made.id}`, text: made.querySelector("h2").textContent }));
  const names = views.length > 1 ? element("div", { class: "plans names" }, ...views.map((view) => element("h2", { class: "plan", text: view.title }))) : null;
  document.body.append(
    element("a", { class: "skip", href: "#overview", text: "Skip to the plan" }),
    element("header", {}, element("h1", { text: title }), element("nav", { "aria-label": "Sections" }, ...links), theme),
    element("main", {}, comparison === null ? null : table(comparison), names, ...sections),
    element("footer", { text: "Made by Planwright. This page asks no network." }),
  );
}

page(JSON.parse(document.getElementById("data").textContent));
followTheme();
onTheme(draw);
draw();
let waiting = 0;
window.addEventListener("resize", () => {
  cancelAnimationFrame(waiting);
  waiting = requestAnimationFrame(draw);
});
document.documentElement.dataset.ready = isDark() ? "dark" : "light";

// What each chart of the page looks like. All numbers and places come from the program; nothing is laid out here.
import { PARTS, colourOf, colours, onColour } from "./theme.mjs";

const FONT = 12;

const number = (value) => value.toLocaleString("en", { maximumFractionDigits: value < 10 ? 3 : 1 });

function tooltip(formatter) {
  const { card, line, text } = colours();
  // Rich text is drawn, not parsed: names stay names.
  return {
    renderMode: "richText",
    confine: true,
    backgroundColor: card,
    borderColor: line,
    textStyle: { color: text, fontSize: FONT },
    formatter,
  };
}

const base = () => ({
  animation: false,
  backgroundColor: "transparent",
  textStyle: { color: colours().text, fontSize: FONT },
  aria: { enabled: false },
});

function valueAxis(name, extra = {}) {
  const { faint, line } = colours();
  return {
    type: "value",
    name,
    nameLocation: "middle",
    nameGap: 26,
    nameTextStyle: { color: faint },
    axisLabel: { color: faint, hideOverlap: true, showMaxLabel: false },
    splitLine: { lineStyle: { color: line } },
    ...extra,
  };
}

function nameAxis(names, extra = {}) {
  const { text, line } = colours();
  return {
    type: "category",
    data: names,
    inverse: true,
    axisLabel: { color: text, width: 150, overflow: "truncate", interval: 0 },
    axisLine: { lineStyle: { color: line } },
    axisTick: { show: false },
    ...extra,
  };
}

const legend = (extra = {}) => ({ top: 0, left: 0, type: "scroll", textStyle: { color: colours().text }, ...extra });

// Boxes and lines at given places: {width, height, boxes: [{x, y, width, height, label, colour, tip, outline}],
// lines: [{x1, y1, x2, y2, bend, strength, tip}]}. Lines pass behind boxes.
export function picture(drawing) {
  const { text, faint, line, card } = colours();
  const hidden = (max, inverse) => ({ type: "value", min: 0, max, inverse, show: false });
  const drawBox = (_, api) => {
    const box = drawing.boxes[api.value(2)];
    const [x, y] = api.coord([box.x, box.y]);
    const [right, bottom] = api.coord([box.x + box.width, box.y + box.height]);
    const colour = box.colour < 0 ? line : PARTS[box.colour % PARTS.length];
    const shape = { x, y, width: right - x, height: bottom - y, r: 3 };
    const tint = { fill: colour, opacity: box.outline ? 0.08 : 0.25 };
    const label = {
      text: box.label,
      fill: box.outline ? faint : text,
      fontSize: Math.min(FONT, Math.max(8, (bottom - y) * 0.5)),
      width: right - x - 6,
      overflow: "truncate",
      align: box.outline ? "left" : "center",
      verticalAlign: box.outline ? "top" : "middle",
      x: box.outline ? x + 4 : (x + right) / 2,
      y: box.outline ? y + 3 : (y + bottom) / 2,
    };
    return {
      type: "group",
      children: [
        { type: "rect", shape, style: { fill: box.outline ? "transparent" : card } },
        { type: "rect", shape, style: tint },
        { type: "rect", shape, style: { fill: "transparent", stroke: colour, lineWidth: 1 } },
        { type: "text", style: label, silent: true },
      ],
    };
  };
  const drawLine = (_, api) => {
    const from = drawing.lines[api.value(2)];
    const [x1, y1] = api.coord([from.x1, from.y1]);
    const [x2, y2] = api.coord([from.x2, from.y2]);
    const aside = from.bend === 0 ? (x2 - x1) / 2 : 0;
    const [, depth] = api.size([0, from.bend]);
    const shape = { x1, y1, x2, y2, cpx1: x1 + aside, cpy1: y1 + depth, cpx2: x2 - aside, cpy2: y2 + depth };
    return {
      type: "bezierCurve",
      shape,
      style: { stroke: faint, fill: "none", lineWidth: 0.8 + 2.4 * from.strength, opacity: 0.75 },
    };
  };
  const places = (things, x, y, wanted) => things.flatMap((thing, i) => (wanted(thing) ? [[thing[x], thing[y], i]] : []));
  const series = (renderItem, data, z, tips) => ({
    type: "custom",
    renderItem,
    data,
    z,
    progressive: 0,
    clip: false,
    tooltip: { formatter: ({ value }) => tips[value[2]].tip },
  });
  return {
    ...base(),
    tooltip: tooltip(),
    grid: { left: 4, right: 4, top: 4, bottom: 4 },
    xAxis: hidden(drawing.width, false),
    yAxis: hidden(drawing.height, true),
    series: [
      series(drawBox, places(drawing.boxes, "x", "y", (box) => box.outline), 1, drawing.boxes),
      series(drawLine, places(drawing.lines, "x1", "y1", () => true), 2, drawing.lines),
      series(drawBox, places(drawing.boxes, "x", "y", (box) => !box.outline), 3, drawing.boxes),
    ],
  };
}

// Stacked bars: {unit, rows, parts: [{name, values, stack}], limits: [value or null], line: value or null}.
export function bars(chart) {
  const { mark, card } = colours();
  const series = chart.parts.map((part, i) => ({
    type: "bar",
    name: part.name,
    stack: String(part.stack),
    data: part.values,
    barMaxWidth: 18,
    itemStyle: { color: colourOf(part.name, i), borderColor: card, borderWidth: 0.5 },
  }));
  if (chart.line !== null && series.length > 0) {
    series[0].markLine = {
      symbol: "none",
      silent: true,
      lineStyle: { color: mark, type: "dashed" },
      label: { show: false },
      data: [{ xAxis: chart.line }],
    };
  }
  const limits = chart.limits.map((limit, row) => [limit, row]).filter(([limit]) => limit !== null);
  if (limits.length > 0) {
    series.push({
      type: "scatter",
      name: "limit",
      symbol: "rect",
      symbolSize: [3, 20],
      data: limits,
      itemStyle: { color: mark },
      z: 5,
    });
  }
  const most = Math.max(0, ...limits.map(([limit]) => limit), chart.line ?? 0);
  return {
    ...base(),
    tooltip: tooltip(({ seriesName, name, value }) => {
      const shown = Array.isArray(value) ? value[0] : value;
      return `${name || ""}\n${seriesName}: ${number(shown)} ${chart.unit}`.trim();
    }),
    legend: legend(),
    grid: { left: 160, right: 16, top: 34, bottom: 40 },
    xAxis: valueAxis(chart.unit, { min: 0, max: ({ max }) => Math.max(max, most) * 1.02 }),
    yAxis: nameAxis(chart.rows),
    series,
  };
}

// Tasks on resources: {rows, kinds, tasks: [[row, start, end, kind, stage, micro-batch]]}, milliseconds.
export function timeline(chart) {
  const { text, line } = colours();
  const draw = (_, api) => {
    const [x, y] = api.coord([api.value(1), api.value(0)]);
    const [right] = api.coord([api.value(2), api.value(0)]);
    const height = api.size([0, 1])[1] * 0.72;
    const width = Math.max(right - x, 0.6);
    const fill = colourOf(chart.kinds[api.value(3)], api.value(3));
    const children = [
      {
        type: "rect",
        shape: { x, y: y - height / 2, width, height },
        style: { fill, stroke: width > 3 ? line : "none", lineWidth: 0.5 },
      },
    ];
    if (width > 16 && height > 9) {
      const label = { text: String(api.value(5)), x: x + width / 2, y, align: "center", verticalAlign: "middle" };
      children.push({ type: "text", style: { ...label, fill: onColour(fill), fontSize: 10 }, silent: true });
    }
    return { type: "group", children };
  };
  // One series for each kind, so that the legend names and hides them.
  const series = chart.kinds.map((name, kind) => ({
    type: "custom",
    name,
    renderItem: draw,
    data: chart.tasks.filter((task) => task[3] === kind),
    encode: { x: [1, 2], y: 0 },
    itemStyle: { color: colourOf(name, kind) },
    // Pictures of a part of the tasks are wrong pictures.
    progressive: 0,
    clip: true,
  }));
  return {
    ...base(),
    tooltip: tooltip(({ seriesName, value }) => {
      const [row, start, end, , stage, microBatch] = value;
      return `${chart.rows[row]}: ${seriesName}\nstage ${stage}, micro-batch ${microBatch}\n${number(start)} to ${number(end)} ms`;
    }),
    legend: legend({ data: chart.kinds.map((name) => ({ name, icon: "rect" })) }),
    grid: { left: 160, right: 16, top: 34, bottom: 84 },
    xAxis: valueAxis("ms", { min: 0, max: chart.end }),
    yAxis: nameAxis(chart.rows, { axisLabel: { color: text, width: 150, overflow: "truncate", interval: "auto" } }),
    dataZoom: [
      { type: "slider", xAxisIndex: 0, filterMode: "weakFilter", bottom: 8, height: 24, showDataShadow: false, textStyle: { color: text } },
      { type: "inside", xAxisIndex: 0, filterMode: "weakFilter", zoomOnMouseWheel: "ctrl", moveOnMouseMove: true },
    ],
    series,
  };
}

// The best plan and the bound over time: {unit, points: [[time, objective, bound, algorithm]], end}.
export function search(chart) {
  const line = (name, column, colour, type) => ({
    type: "line",
    name,
    step: "end",
    data: chart.points.filter((point) => point[column] > 0).map((point) => [point[0], point[column], point[3]]),
    symbolSize: 7,
    itemStyle: { color: colour },
    lineStyle: { color: colour, type },
  });
  return {
    ...base(),
    tooltip: tooltip(({ seriesName, value }) => `${seriesName}: ${number(value[1])} ${chart.unit}\nafter ${number(value[0])} ms, ${value[2]}`),
    legend: legend(),
    grid: { left: 80, right: 16, top: 34, bottom: 44 },
    xAxis: valueAxis("time of the search, ms", { min: 0, max: chart.end }),
    yAxis: valueAxis("", { scale: true, axisLabel: { color: colours().faint, formatter: (value) => `${number(value)} ${chart.unit}` } }),
    series: [line("best plan", 1, PARTS[0], "solid"), line("lower bound", 2, PARTS[5], "dashed")],
  };
}

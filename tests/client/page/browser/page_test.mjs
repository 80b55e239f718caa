// What a browser makes of pages: page_test.mjs PLANWRIGHT PLANWRIGHTD. Screenshots of what it saw stay in the current folder.
import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync, statSync, writeFileSync } from "node:fs";
import { resolve } from "node:path";
import { argv } from "node:process";
import { createInterface } from "node:readline";
import test, { after, before } from "node:test";
import { chromium } from "playwright-core";

const planwright = (...flags) => execFileSync(argv[2], flags, { stdio: ["ignore", "pipe", "pipe"], maxBuffer: 1 << 28 });

let browser;
before(async () => {
  browser = await chromium.launch({ executablePath: "/usr/bin/chromium", args: ["--no-sandbox", "--disable-gpu"] });
});
after(() => browser.close());

// Opens a page offline; whatever it says on the console and asks for is in `noise`.
const open = (file, options = {}) => visit("file://" + resolve(file), { offline: true, ...options });

async function visit(address, options) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, ...options });
  const page = await context.newPage();
  const noise = [];
  page.on("console", (message) => noise.push(message.text()));
  page.on("pageerror", (error) => noise.push(String(error)));
  page.on("dialog", (dialog) => (noise.push("dialog " + dialog.message()), dialog.dismiss()));
  page.on("request", (request) => request.url() !== address && noise.push("request " + request.url()));
  await page.goto(address);
  await page.waitForSelector("html[data-ready]", { timeout: 30000 });
  return { page, noise };
}

const headings = (page) => page.locator("section > h2").allTextContents();

// Whether something is drawn on each chart: more than one colour.
const emptyCharts = (page) =>
  page.evaluate(() =>
    [...document.querySelectorAll(".chart")]
      .filter((box) => {
        const canvas = box.querySelector("canvas");
        const pixels = new Uint32Array(canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data.buffer);
        return pixels.every((pixel) => pixel === pixels[0]);
      })
      .map((box) => box.getAttribute("aria-label")),
  );

test("a plan shows all that there is to show, and asks for nothing", async () => {
  const { page, noise } = await open("bert.html");
  assert.deepEqual(await headings(page), ["Overview", "Assumptions", "Stages", "Devices and links", "Load", "Memory", "Timeline", "Search", "Alternatives", "Problem"]);
  assert.deepEqual(await emptyCharts(page), []);
  assert.match(await page.locator("#alternatives").textContent(), /one more device of class.*single_device/s);
  await page.locator("#stages summary").first().click();
  assert.match(await page.locator("#stages dl").first().textContent(), /embeddings\/word/);
  await page.screenshot({ path: "bert.png", fullPage: true });
  assert.deepEqual(noise, []);
  assert.ok(statSync("bert.html").size < 1e6, "larger than 1 MB");
});

test("keys move along the timeline", async () => {
  const { page, noise } = await open("bert.html");
  const box = page.locator("#timeline .chart");
  const before = await box.screenshot();
  await box.focus();
  await page.keyboard.press("+");
  const zoomed = await box.screenshot();
  assert.ok(!zoomed.equals(before));
  await page.keyboard.press("ArrowRight");
  assert.ok(!(await box.screenshot()).equals(zoomed));
  await page.keyboard.press("Home");
  assert.ok((await box.screenshot()).equals(before));
  await page.keyboard.press("Tab");
  assert.deepEqual(noise, []);
});

test("light, dark and paper", async () => {
  const paper = (page) => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  const { page, noise } = await open("bert.html", { colorScheme: "dark" });
  assert.equal(await page.getAttribute("html", "data-theme"), "dark");
  const dark = await paper(page);
  await page.screenshot({ path: "dark.png", fullPage: true });
  await page.getByRole("button").click();
  assert.equal(await page.getAttribute("html", "data-theme"), "light");
  assert.notEqual(await paper(page), dark);
  await page.getByRole("button").click();
  writeFileSync("paper.pdf", await page.pdf());
  assert.equal(await page.getAttribute("html", "data-theme"), "dark");
  assert.deepEqual(noise, []);
});

test("names are text", async () => {
  const name = "</script><script>alert(1)</script><img src=x onerror=alert(2)>";
  const graph = JSON.parse(planwright("import", "--graph=zoo:gpt-125m", "--cluster=zoo:pcie:2", "--output=json")).graph;
  const old = graph.operators[3].name;
  writeFileSync("hostile.json", JSON.stringify(graph).replaceAll(JSON.stringify(old), JSON.stringify(name)));
  planwright("plan", "--graph=hostile.json", "--cluster=zoo:pcie:2", "--output=html", "--output_file=hostile.html");
  const { page, noise } = await open("hostile.html");
  for (const summary of await page.locator("#stages summary").all()) await summary.click();
  assert.ok((await page.locator("#stages").textContent()).includes(name));
  assert.equal(await page.locator("img").count(), 0);
  for (const chart of await page.locator(".chart").all()) await chart.hover();
  assert.deepEqual(noise, []);
});

test("a joint plan has degrees, memory by part, a timeline and equal stages", async () => {
  planwright("plan", "--graph=zoo:llama3-70b", "--cluster=zoo:dgx-h100:8", "--global_batch=512", "--output=html", "--output_file=joint.html");
  const { page, noise } = await open("joint.html");
  assert.match(await page.locator("#stages table").textContent(), /tensor \d/);
  assert.match(await page.locator("#memory table").textContent(), /parametersgradientsoptimizeractivations/);
  assert.match(await page.locator("#timeline").textContent(), /A step of \d+ micro-batches on the simulator takes/);
  assert.match(await page.locator("#alternatives").textContent(), /What the choices are worth.*Equal stages/s);
  assert.deepEqual(await emptyCharts(page), []);
  await page.screenshot({ path: "joint.png", fullPage: true });
  assert.deepEqual(noise, []);
});

test("two plans stand side by side", async () => {
  planwright("plan", "--graph=zoo:bert-large", "--cluster=zoo:pcie:4", "--algorithm=greedy", "--save=greedy.json");
  planwright("export", "--plan=bert.json", "--beside=greedy.json", "--graph=zoo:bert-large", "--cluster=zoo:pcie:4", "--to=html", "--output_file=two.html");
  const { page, noise } = await open("two.html");
  const [left, right] = await Promise.all((await page.locator("#load .chart").all()).map((chart) => chart.boundingBox()));
  assert.equal(left.y, right.y);
  assert.ok(left.x + left.width < right.x);
  await page.screenshot({ path: "two.png", fullPage: true });
  assert.deepEqual(noise, []);
});

test("thousands of operators are still one page", async () => {
  const model = "zoo:transformer?layers=667&hidden=256&heads=4&vocab=1000&sequence=128";
  planwright("plan", `--graph=${model}`, "--cluster=zoo:pcie:8", "--granularity=layer", "--output=html", "--output_file=large.html");
  const { page, noise } = await open("large.html");
  const operators = JSON.parse(readFileSync("large.html", "utf8").match(/id="data">(.*?)<\/script>/s)[1]).views[0].stage_details.flatMap((stage) => stage.layers.flatMap(([, names]) => names)).length;
  assert.ok(operators > 9000, `${operators} operators`);
  assert.ok(statSync("large.html").size < 4e6, "larger than 4 MB");
  assert.match(await page.locator("#stages .note").textContent(), /too many to draw/);
  assert.deepEqual(noise, []);
});

test("planwrightd serves the page of a stored plan, and pages that say why there is none", async () => {
  const daemon = spawn(argv[3], ["--listen_address=127.0.0.1:0", "--metrics_address=", "--serve_pages", "--pages_address=127.0.0.1:0", "--store=sqlite:plans.db", "--log_format=json"], { stdio: ["ignore", "ignore", "pipe"] });
  const addresses = {};
  for await (const line of createInterface({ input: daemon.stderr })) {
    const { message, address } = JSON.parse(line);
    addresses[message] = address;
    if (message === "serving grpc") break;
  }
  daemon.stderr.resume();
  try {
    planwright("plan", `--server=${addresses["serving grpc"]}`, "--graph=zoo:bert-large", "--cluster=zoo:pcie:4", "--plan_id=bert-4");
    const { page, noise } = await visit(`http://${addresses["serving pages"]}/plans/bert-4`, {});
    assert.equal(await page.title(), "plans/bert-4: bert-large on pcie:4");
    assert.deepEqual(await emptyCharts(page), []);
    await page.screenshot({ path: "served.png", fullPage: true });
    assert.deepEqual(noise, []);
    const refused = await page.goto(`http://${addresses["serving pages"]}/plans/nobody-1`);
    assert.equal(refused.status(), 404);
    assert.match(await page.textContent("p"), /nothing is stored as "plans\/nobody-1"/);
  } finally {
    daemon.kill("SIGTERM");
    assert.deepEqual(await once(daemon, "exit"), [0, null]);
  }
});

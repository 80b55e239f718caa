// Bundles the page's script and style, and writes them as a C++ source: build.mjs BUNDLE.cc
import { createHash } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { argv, cwd } from "node:process";

// What `npm ci` fetched lies in the folder that this runs in, not beside the sources.
const modules = join(cwd(), "node_modules");
const { build } = await import(pathToFileURL(join(modules, "esbuild/lib/main.js")));
const here = dirname(fileURLToPath(import.meta.url));

async function bundled(entry, options) {
  const result = await build({
    entryPoints: [join(here, entry)],
    bundle: true,
    minify: true,
    write: false,
    charset: "ascii",
    legalComments: "none",
    nodePaths: [modules],
    define: { "process.env.NODE_ENV": '"production"' },
    ...options,
  });
  return result.outputFiles[0].text.trim();
}

const hash = (text) => "sha256-" + createHash("sha256").update(text).digest("base64");

// Compilers limit the length of one literal, not of literals in a row.
function literal(text) {
  const parts = text.match(/[^]{1,8000}/g) ?? [""];
  return parts.map((part) => `    R"bundle(${part})bundle"`).join("\n");
}

const { version } = JSON.parse(readFileSync(join(modules, "echarts/package.json"), "utf8"));
const notice = `/* With Apache ECharts ${version} (Apache License 2.0) and zrender (BSD 3-Clause). */`;
const script = await bundled("main.mjs", { format: "iife", target: "es2020", banner: { js: notice } });
const style = await bundled("page.css", { loader: { ".css": "css" } });
// Nothing in the bundle may end the element that holds it.
for (const text of [script, style]) {
  if (/<\/(script|style)/i.test(text) || text.includes(')bundle"')) throw new Error("the bundle ends its element");
}
writeFileSync(
  argv[2],
  `#include "client/page/bundle.h"

namespace planwright::client {
namespace {

constexpr char kScript[] =
${literal(script)};
constexpr char kStyle[] =
${literal(style)};

}  // namespace

const PageBundle* Bundle() {
  static constexpr PageBundle kBundle = {.script = {kScript, sizeof(kScript) - 1},
                                         .script_hash = "${hash(script)}",
                                         .style = {kStyle, sizeof(kStyle) - 1},
                                         .style_hash = "${hash(style)}"};
  return &kBundle;
}

}  // namespace planwright::client
`,
);

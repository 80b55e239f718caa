// Validates objects of Kubernetes (a JSON list on standard input) with npm's kubernetes-models, whose schemas are those of
// the API server: kubernetes_models.mjs FOLDER, where FOLDER holds node_modules. Prints a JSON list, one entry an object:
// "ok", "unknown kind" or what is wrong.
import { createRequire } from "node:module";
import { readFileSync } from "node:fs";

const require = createRequire(`${process.argv[2]}/package.json`);

function verdict(object) {
  let Model;
  try {
    Model = require(`kubernetes-models/${object.apiVersion}`)[object.kind];
  } catch {
    // A group that Kubernetes itself does not have.
  }
  if (Model === undefined) return "unknown kind";
  try {
    new Model(object).validate();
    return "ok";
  } catch (error) {
    return String(error.message);
  }
}

console.log(JSON.stringify(JSON.parse(readFileSync(0, "utf8")).map(verdict)));

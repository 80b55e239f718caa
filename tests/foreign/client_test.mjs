// planwrightd seen from Node.js: the protos loaded at run time, unary calls, a stream, a cancellation, error details.
//
// Usage: node --test client_test.mjs, with PLANWRIGHT_ADDRESS and PLANWRIGHT_PROTO set (deploy/check-clients.sh).
import assert from "node:assert/strict";
import path from "node:path";
import { after, test } from "node:test";

import grpc from "@grpc/grpc-js";
import protoLoader from "@grpc/proto-loader";

const { PLANWRIGHT_ADDRESS: address, PLANWRIGHT_PROTO: proto } = process.env;
const definition = protoLoader.loadSync(path.join(proto, "planwright/v1/planning_service.proto"), {
  includeDirs: [proto],
  keepCase: true,
  longs: String,
  enums: String,
  defaults: true,
  oneofs: true,
});
const { PlanningService } = grpc.loadPackageDefinition(definition).planwright.v1;
const client = new PlanningService(address, grpc.credentials.createInsecure());
after(() => client.close());

const request = { graph_reference: "zoo:bert-large", cluster_reference: "zoo:pcie:4" };
const inAMinute = () => ({ deadline: Date.now() + 60_000 });

function call(method, message, options = inAMinute()) {
  return new Promise((resolve, reject) => {
    client[method](message, options, (error, response) => (error ? reject(error) : resolve(response)));
  });
}

test("a plan is proven optimal and evaluates as valid", async () => {
  const { plan } = await call("CreatePlan", request);
  assert.equal(plan.provenance.stop_reason, "STOP_REASON_OPTIMAL");
  assert.equal(plan.objective_ms, plan.lower_bound_ms);
  const verdict = await call("EvaluatePlan", { ...request, plan });
  assert.deepEqual(verdict.violations, []);
  assert.equal(verdict.valid, true);
  assert.equal(verdict.objective_ms, plan.objective_ms);
});

test("a stream tells of phases and incumbents and ends with the plan", async () => {
  const kinds = [];
  let plan;
  for await (const message of client.StreamPlan({ ...request, skip_cache: true }, inAMinute())) {
    kinds.push(message.event);
    plan = message.plan ?? plan;
  }
  assert.ok(kinds.includes("phase"));
  assert.ok(kinds.includes("incumbent"));
  assert.equal(kinds.at(-1), "plan");
  assert.equal(plan.provenance.proven_optimal, true);
});

test("a stream that is cancelled ends with CANCELLED", async () => {
  const stream = client.StreamPlan(request, inAMinute());
  stream.cancel();
  await assert.rejects(
    async () => {
      for await (const message of stream) assert.ok(message);
    },
    (error) => error.code === grpc.status.CANCELLED,
  );
});

test("a broken request is INVALID_ARGUMENT and its details name the field", async () => {
  await assert.rejects(call("CreatePlan", { ...request, options: { relative_gap: 2 } }), (error) => {
    assert.equal(error.code, grpc.status.INVALID_ARGUMENT);
    const [details] = error.metadata.get("grpc-status-details-bin");
    assert.ok(details.toString("latin1").includes("options.relative_gap"));
    return true;
  });
});

test("an unknown model is NOT_FOUND", async () => {
  await assert.rejects(
    call("CreatePlan", { ...request, graph_reference: "zoo:bert-lrage" }),
    (error) => error.code === grpc.status.NOT_FOUND,
  );
});

test("the server says what it is", async () => {
  const info = await call("GetServerInfo", {});
  assert.match(info.version, /^\d+\.\d+\.\d+/);
  assert.ok(info.models.some((model) => model.name === "bert-large"));
});

import assert from "node:assert/strict";
import type { Sidecars } from "../build-sidecars.ts";
import { SENDERS } from "../load/senders.ts";
import { HALF } from "../subjects.ts";
import { waitUntil } from "../wait-until.ts";
import { AGENT_PORT, agentCommand, HTTP_PROBE, READINESS } from "./agent.ts";
import { ask, V1_ANSWER, V1_PATH, V1_REQUEST } from "./ask.ts";
import { type ServingProgram, withProgram } from "./with-program.ts";
import { RUNTIME, withServer } from "./with-server.ts";

const PORT = 8012;
const URL = `http://127.0.0.1:${PORT}`;
const TARGET = { host: "127.0.0.1", httpPort: PORT, grpcPort: PORT };
/** Knative adds the address. */
const REST_PROBE = { ...HTTP_PROBE, httpGet: { ...HTTP_PROBE.httpGet, host: "127.0.0.1" } };
const GRPC_PROBE = { ...HTTP_PROBE, httpGet: undefined, grpc: { port: RUNTIME.grpcPort } };
/** Values of a request of 2 MB. */
const MANY = 300_000;

/** Puts Knative's queue-proxy before the server as each runtime of deploy/kserve/knative.yaml does. */
export async function checkQueueProxy({ queue, agent }: Sidecars): Promise<string> {
  const rest = queueProxy(queue, { userPort: RUNTIME.httpPort, probe: REST_PROBE });
  await withProgram({ ...rest, status: 503 }, () => withServer(RUNTIME, () => checkRest()));
  const grpc = queueProxy(queue, { userPort: RUNTIME.grpcPort, probe: GRPC_PROBE });
  await withServer(RUNTIME, () => withProgram(grpc, () => SENDERS["V2 gRPC"](TARGET, HALF)()));
  const chained = queueProxy(queue, { userPort: AGENT_PORT, probe: REST_PROBE });
  const batcher = { ...agentCommand(agent, ["--enable-batcher", "--max-latency=10"]), ...READINESS };
  await withServer(RUNTIME, () => withProgram(batcher, () => withProgram(chained, checkChain)));
  return "readiness that follows the server's, REST, an error, 2 MB, four at a time of 40, gRPC over h2c, KServe's agent between them";
}

interface QueueOptions {
  /** Port behind it. */
  readonly userPort: number;
  readonly probe: object;
}

/** Knative's queue-proxy with the environment that Knative gives it. */
function queueProxy(queue: string, { userPort, probe }: QueueOptions): ServingProgram {
  const own = { USER_PORT: String(userPort), SERVING_READINESS_PROBE: JSON.stringify(probe) };
  return { command: [queue], env: { ...ENVIRONMENT, ...own }, ...READINESS, url: URL };
}

const ENVIRONMENT = {
  ...{ CONTAINER_CONCURRENCY: "4", REVISION_TIMEOUT_SECONDS: "60" },
  ...{ QUEUE_SERVING_PORT: String(PORT), QUEUE_SERVING_TLS_PORT: "8112" },
  ...{ SERVING_LOGGING_CONFIG: "", SERVING_LOGGING_LEVEL: "error" },
  ...{ SERVING_NAMESPACE: "models", SERVING_SERVICE: "half", SERVING_CONFIGURATION: "half" },
  ...{ SERVING_REVISION: "half-00001", SERVING_POD: "half-00001-a", SERVING_POD_IP: "127.0.0.1" },
};

async function checkRest(): Promise<void> {
  await waitUntil("the pod is ready", async () => (await fetch(URL, { headers: READINESS.headers })).ok);
  for (const wire of ["V2 REST", "V2 REST, new connections", "TensorFlow REST"] as const)
    await SENDERS[wire](TARGET, HALF)();
  const together = Array.from({ length: 40 }, () => ask(`${URL}${V1_PATH}`, V1_REQUEST));
  for (const { json } of await Promise.all(together)) assert.deepEqual(json, V1_ANSWER);
  const refused = await ask(`${URL}${V1_PATH}`, { instances: ["x"] });
  assert.deepEqual([refused.status, refused.headers.get("content-type")], [400, "application/json"]);
  const large = await ask(`${URL}${V1_PATH}`, { instances: Array.from({ length: MANY }, () => 1.25) });
  assert.equal((large.json as { predictions: readonly number[] }).predictions.length, MANY);
}

async function checkChain(): Promise<void> {
  const { json } = await ask(`${URL}${V1_PATH}`, V1_REQUEST);
  const { predictions, batchId } = json as { predictions: unknown; batchId: string };
  assert.deepEqual(predictions, V1_ANSWER.predictions);
  assert.notEqual(batchId, "");
}

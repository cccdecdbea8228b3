import assert from "node:assert/strict";
import type { Sidecars } from "../build-sidecars.ts";
import { HALF } from "../subjects.ts";
import { AGENT_URL, agentCommand, READINESS } from "./agent.ts";
import { ask, V1_PATH, V2_PATH, V2_REQUEST } from "./ask.ts";
import { withProgram } from "./with-program.ts";
import { RUNTIME, withServer } from "./with-server.ts";

const { input, expected } = HALF;

/** An answer of the batcher; its status is 200 also where the server refused the batch. */
interface BatchAnswer {
  readonly message: string;
  readonly batchId: string;
  readonly predictions: readonly number[] | null;
}

/** Has KServe's agent put requests together, as the `batcher` of an InferenceService makes it. */
export async function checkBatcher({ agent }: Sidecars): Promise<string> {
  const flags = ["--enable-batcher", `--max-batchsize=${input.data.length}`, "--max-latency=1000"];
  await withServer(RUNTIME, () => withProgram({ ...agentCommand(agent, flags), ...READINESS }, askInBatches));
  return `${input.data.length} requests in one batch, the server's reason for one that is refused, V2 past the batcher`;
}

async function askInBatches(): Promise<void> {
  const together = await Promise.all(input.data.map((value) => predict(value)));
  assert.deepEqual(
    together.map(({ predictions }) => predictions),
    expected.map((value) => [value]),
  );
  assert.equal(new Set(together.map(({ batchId }) => batchId)).size, 1);
  const refused = await predict("x");
  assert.match(refused.message, /is not of expected type: float/);
  assert.equal(refused.predictions, null);
  const v2 = await ask(`${AGENT_URL}${V2_PATH}`, V2_REQUEST);
  assert.deepEqual((v2.json as { outputs: { data: unknown }[] }).outputs[0]?.data, expected);
}

async function predict(instance: unknown): Promise<BatchAnswer> {
  const { status, json } = await ask(`${AGENT_URL}${V1_PATH}`, { instances: [instance] });
  assert.equal(status, 200);
  return json as BatchAnswer;
}

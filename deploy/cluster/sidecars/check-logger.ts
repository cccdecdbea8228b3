import assert from "node:assert/strict";
import type { Sidecars } from "../build-sidecars.ts";
import { HALF } from "../subjects.ts";
import { waitUntil } from "../wait-until.ts";
import { AGENT_URL, agentCommand, READINESS } from "./agent.ts";
import { ask, V1_ANSWER, V1_PATH, V1_REQUEST, V2_PATH, V2_REQUEST } from "./ask.ts";
import { collectEvents } from "./collect-events.ts";
import { withProgram } from "./with-program.ts";
import { RUNTIME, withServer } from "./with-server.ts";

const NAMES = ["--inference-service=half", "--namespace=models", "--endpoint=default", "--component=predictor"];

/** Has KServe's agent log requests and answers as CloudEvents, as the `logger` of an InferenceService makes it. */
export async function checkLogger({ agent }: Sidecars): Promise<string> {
  const { url, received, close } = await collectEvents();
  const flags = [`--log-url=${url}`, "--log-mode=all", "--metadata-headers=X-Tenant", ...NAMES];
  const program = { ...agentCommand(agent, flags), ...READINESS };
  await withServer(RUNTIME, () =>
    withProgram(program, async () => {
      const headers = { "ce-id": "one", "x-tenant": "a" };
      const v1 = await ask(`${AGENT_URL}${V1_PATH}`, V1_REQUEST, headers);
      assert.deepEqual([v1.status, v1.json], [200, V1_ANSWER]);
      const v2 = await ask(`${AGENT_URL}${V2_PATH}`, V2_REQUEST, { ...headers, "ce-id": "two" });
      assert.deepEqual((v2.json as { outputs: { data: unknown }[] }).outputs[0]?.data, HALF.expected);
      const refused = await ask(`${AGENT_URL}${V1_PATH}`, { instances: ["x"] }, { ...headers, "ce-id": "three" });
      assert.equal(refused.status, 400);
      // The agent does not log answers other than 200.
      await waitUntil("five events are logged", async () => received.length >= 5);
      const bodiesOf = (id: string) =>
        received.filter((event) => event.id === id).map(({ type, body }) => [type, body]);
      assert.deepEqual(bodiesOf("one").sort(), [
        ["request", V1_REQUEST],
        ["response", V1_ANSWER],
      ]);
      assert.deepEqual(bodiesOf("two").sort(), [
        ["request", V2_REQUEST],
        ["response", v2.json],
      ]);
      assert.deepEqual(bodiesOf("three"), [["request", { instances: ["x"] }]]);
      for (const { service, metadata } of received)
        assert.deepEqual([service, metadata], ["half", { "X-Tenant": ["a"] }]);
    }),
  ).finally(close);
  return "five CloudEvents of three requests, two of which were answered";
}

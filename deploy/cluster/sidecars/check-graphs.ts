import assert from "node:assert/strict";
import { isDeepStrictEqual } from "node:util";
import type { Sidecars } from "../build-sidecars.ts";
import { HALF } from "../subjects.ts";
import { type Asked, ask, V1_ANSWER, V1_PATH, V1_REQUEST } from "./ask.ts";
import { withProgram } from "./with-program.ts";
import { withServer } from "./with-server.ts";

/** Two servers of the same model; hooks of the second double its outputs. */
const ONCE = { httpPort: 8091, grpcPort: 8191 };
const TWICE = {
  ...{ httpPort: 8092, grpcPort: 8192 },
  hooks: `export default { postprocess: ({ y }) => ({ y: { ...y, data: y.data.map((value) => value * 2) } }) };\n`,
};
/** The router's fixed port. */
const ROUTER = "http://127.0.0.1:8080";

/** A step of an InferenceGraph at one of the servers. */
function step({ httpPort }: { readonly httpPort: number }, more: Readonly<Record<string, unknown>> = {}) {
  return { serviceUrl: `http://127.0.0.1:${httpPort}${V1_PATH}`, ...more };
}

const DOUBLED = { predictions: HALF.expected.map((value) => value * 2) };
/** The second model's answer to the first one's answer. */
const CHAINED = { predictions: HALF.expected.map((value) => (value / 2 + 2) * 2) };
const REQUESTS = 300;

/** Root nodes of each type, with what has to come back. */
const GRAPHS: readonly (readonly [type: string, steps: readonly object[], answer: unknown])[] = [
  ["Sequence", [step(ONCE), step(TWICE, { data: "$response", mapPredictionsToInstances: true })], CHAINED],
  ["Sequence", [step(ONCE), step(TWICE, { data: "$request" })], DOUBLED],
  ["Ensemble", [step(ONCE, { name: "once" }), step(TWICE, { name: "twice" })], { once: V1_ANSWER, twice: DOUBLED }],
  ["Switch", [step(ONCE, { condition: "instances.#(>100)" }), step(TWICE, { condition: "instances.#(>1)" })], DOUBLED],
];

/** Has KServe's router call two servers, as nodes of each type of an InferenceGraph do. */
export async function checkGraphs({ router }: Sidecars): Promise<string> {
  let shares = "";
  await withServer(ONCE, () =>
    withServer(TWICE, async () => {
      for (const [type, steps, answer] of GRAPHS) await withGraph(router, { type, steps }, () => checkAnswer(answer));
      await withGraph(
        router,
        { type: "Sequence", steps: [step(ONCE, { dependency: "Hard" }), step(TWICE)] },
        checkRefusal,
      );
      const weighted = [step(ONCE, { weight: 80 }), step(TWICE, { weight: 20 })];
      await withGraph(router, { type: "Splitter", steps: weighted }, async () => {
        shares = await checkShares();
      });
    }),
  );
  return `Sequence, Ensemble and Switch; an error of a hard step; Splitter with 80 and 20 percent: ${shares}`;
}

interface RootNode {
  readonly type: string;
  readonly steps: readonly object[];
}

function withGraph(router: string, { type, steps }: RootNode, use: () => Promise<void>): Promise<void> {
  const graph = { nodes: { root: { routerType: type, steps } } };
  return withProgram({ command: [router, "--graph-json", JSON.stringify(graph)], url: `${ROUTER}/readyz` }, use);
}

async function checkAnswer(answer: unknown): Promise<void> {
  const { status, json } = await predict();
  assert.deepEqual([status, json], [200, answer]);
}

function predict(): Promise<Asked> {
  return ask(ROUTER, V1_REQUEST);
}

/** The client gets what the server says of a wrong request. */
async function checkRefusal(): Promise<void> {
  const { status, json } = await ask(ROUTER, { instances: ["x"] });
  assert.equal(status, 400);
  assert.match((json as { error: string }).error, /is not of expected type: float/);
}

/** A canary: one in five requests goes to the second server, give or take what chance makes of 300. */
async function checkShares(): Promise<string> {
  const counts = { first: 0, second: 0, dropped: 0 };
  for (let index = 0; index < REQUESTS; index++) counts[await answerer()]++;
  const { first, second, dropped } = counts;
  assert.ok(second > 25 && second < 95, `${second} of ${REQUESTS} requests went to the step with 20 percent`);
  assert.ok(dropped < 15, `${dropped} of ${REQUESTS} requests were not answered`);
  return `${first} and ${second} of ${REQUESTS} requests, and ${dropped} that the router dropped`;
}

/**
 * KServe's router draws one of 101 numbers for weights of 100; for the last one it has
 * no step, and cuts the connection.
 */
async function answerer(): Promise<"first" | "second" | "dropped"> {
  const asked = await predict().catch(() => undefined);
  if (asked === undefined) return "dropped";
  const isSecond = isDeepStrictEqual(asked.json, DOUBLED);
  if (!isSecond) assert.deepEqual(asked.json, V1_ANSWER);
  return isSecond ? "second" : "first";
}

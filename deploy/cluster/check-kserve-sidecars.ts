import assert from "node:assert/strict";
import { text } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";
import type { KserveImagePrograms } from "./build-kserve.ts";
import type { CheckContext } from "./check-context.ts";
import { NODE_ADDRESS } from "./cluster-place.ts";
import {
  addressOf,
  createService,
  HOOKS,
  kubectl,
  removeService,
  SMALL,
  STORED,
  startClients,
  waitUntilReady,
} from "./inference-services.ts";
import { NAMESPACE } from "./release.ts";
import { HALF } from "./subjects.ts";
import { waitUntil } from "./wait-until.ts";
import { writeProgramImage } from "./write-images.ts";

const MODEL = { model: { storageUri: STORED, resources: SMALL } };
const EVENTS = { host: NODE_ADDRESS, port: 9900 };
const REQUESTS = 100;

/** Has KServe put its agent before a server (logger, batcher), and its router before two (InferenceGraph). */
export async function checkKserveSidecars(context: CheckContext, programs: KserveImagePrograms): Promise<void> {
  const { cache, cluster } = context;
  for (const name of ["agent", "router"] as const)
    await cluster.importImage(await writeProgramImage(name, { cache, program: programs[name] }));
  await checkLogger(context);
  await checkBatcher(context);
  await checkCanary(context);
}

/** Each request, and each answer, is a CloudEvent. */
async function checkLogger(context: CheckContext): Promise<void> {
  const { host, port } = EVENTS;
  const entry = new URL("sidecars/events-entry.ts", import.meta.url).pathname;
  const command = [process.execPath, "--import=tsx", entry, host, String(port)];
  const { stdin, stdout } = context.cluster.namespaces.start(command);
  if (stdin === null || stdout === null) throw new Error("the collector of events has pipes");
  const printed = text(stdout);
  await createService(context, "logged", { ...MODEL, logger: { mode: "all", url: `http://${host}:${port}` } });
  await waitUntilReady(context, "logged");
  const load = await startClients(context, "logged", ["V2 REST"], 1);
  await sleep(4000);
  const result = await load.stop();
  context.report.add("InferenceService with a logger", result);
  await removeService(context, "logged");
  stdin.end();
  const events: readonly { readonly type: string; readonly service: string }[] = JSON.parse(await printed);
  const inferences = events.filter(({ service }) => service === "logged");
  const answers = inferences.filter(({ type }) => type === "response").length;
  context.report.figure(`KServe's logger: ${answers} CloudEvents of ${result.sent} answers`);
  assert.ok(answers >= result.sent, "CloudEvents are missing");
}

/** Three requests at once are one batch. */
async function checkBatcher(context: CheckContext): Promise<void> {
  const batcher = { maxBatchSize: HALF.input.data.length, maxLatency: 3000 };
  await createService(context, "batched", { ...MODEL, batcher });
  await waitUntilReady(context, "batched");
  const url = `http://${await addressOf(context, "batched-predictor")}/v1/models/batched:predict`;
  await reach(context, url, "[1]");
  const answers = await Promise.all(HALF.input.data.map((value) => predict(context, url, `[${value}]`)));
  assert.deepEqual(
    answers.map(({ predictions }) => predictions),
    HALF.expected.map((value) => [value]),
  );
  assert.equal(new Set(answers.map(({ batchId }) => batchId)).size, 1);
  context.report.figure(`KServe's batcher: ${answers.length} requests are one batch`);
  await removeService(context, "batched");
}

/** An InferenceGraph sends a part of the requests to another InferenceService. */
async function checkCanary(context: CheckContext): Promise<void> {
  await createService(context, "stable", MODEL);
  await createService(context, "hooked", { model: { ...MODEL.model, ...HOOKS } });
  for (const name of ["stable", "hooked"]) await waitUntilReady(context, name);
  const steps = await Promise.all([stepOf(context, "stable", 80), stepOf(context, "hooked", 20)]);
  const graph = {
    ...{ apiVersion: "serving.kserve.io/v1alpha1", kind: "InferenceGraph" },
    metadata: { name: "canary", namespace: NAMESPACE },
    spec: { nodes: { root: { routerType: "Splitter", steps } } },
  };
  await context.cluster.apply(JSON.stringify(graph));
  await waitUntilReady(context, "canary", "inferencegraph");
  const url = `http://${await addressOf(context, "canary")}`;
  await reach(context, url, "[1]");
  const answers: unknown[] = [];
  for (let index = 0; index < REQUESTS; index++) {
    // Its router drops some: npm run check -- sidecars says why.
    const answer = await predict(context, url, "[1]").catch(() => undefined);
    answers.push(answer?.predictions?.[0]);
  }
  const count = (value: unknown) => answers.filter((answer) => answer === value).length;
  const [stable, hooked, dropped] = [count(2.5), count(5), count(undefined)];
  const shares = `${stable} and ${hooked} of ${REQUESTS} requests, and ${dropped} that the router dropped`;
  context.report.figure(`a canary of 20 percent by an InferenceGraph: ${shares}`);
  assert.ok(stable + hooked + dropped === REQUESTS && hooked > 2 && hooked < 45, "the shares are not right");
  await kubectl(context, "delete", "inferencegraph", "canary");
  for (const name of ["stable", "hooked"]) await removeService(context, name);
}

async function stepOf(context: CheckContext, name: string, weight: number): Promise<object> {
  const host = await addressOf(context, `${name}-predictor`);
  return { serviceUrl: `http://${host}/v1/models/${name}:predict`, weight };
}

/** The node's proxy learns of a new Service a second or more after it is ready. */
async function reach(context: CheckContext, url: string, instances: string): Promise<void> {
  await waitUntil(`${url} answers`, async () => (await predict(context, url, instances)).predictions !== null);
}

interface Predicted {
  readonly predictions?: readonly number[] | null;
  readonly batchId?: string;
}

async function predict({ cluster }: CheckContext, url: string, instances: string): Promise<Predicted> {
  return JSON.parse(await cluster.namespaces.run(["curl", "-sf", "-d", `{"instances":${instances}}`, url]));
}

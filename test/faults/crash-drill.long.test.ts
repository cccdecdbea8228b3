import { Agent, request } from "node:http";
import { join, resolve } from "node:path";
import { expect, test } from "vitest";
import { startKserving } from "../cli/start-kserving.ts";
import { tempFolder } from "../helpers/temp-folder.ts";

const MODELS = 50;
const CLIENTS = 8;
/** SIGSEGV; the other signals are those of test/cli/supervisor/supervisor.test.ts. */
const SIGNAL = 11;
/** The goal is one second, on a machine that does nothing else. */
const MOST_MS = 10_000;

const HALF = resolve("test/fixtures/models/half-plus-two.onnx");
const MORTAL = resolve("test/faults/mortal-driver.ts");

function manyModels(): string {
  const others = Array.from({ length: MODELS - 1 }, (_, index) => `  - { name: m${index}, path: ${HALF} }\n`);
  const text = `models:\n  - { name: mortal, driver: ${MORTAL} }\n${others.join("")}`;
  return join(tempFolder({ "models.yaml": text }), "models.yaml");
}

interface Answer {
  readonly model: string;
  /** Undefined where there was none. */
  readonly status: number | undefined;
  readonly isRight: boolean;
  readonly at: number;
}

/**
 * Clients that ask all models but the mortal one in turn, each over a connection of its own, until they are stopped.
 */
function startClients(http: string) {
  const answers: Answer[] = [];
  let isOver = false;
  let next = 0;
  const client = async () => {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    while (!isOver) {
      const value = next++;
      const model = `m${value % (MODELS - 1)}`;
      const { status, body } = await ask(`${http}/v1/models/${model}:predict`, value, agent);
      answers.push({ model, status, isRight: body === value / 2 + 2, at: performance.now() });
    }
    agent.destroy();
  };
  const clients = Array.from({ length: CLIENTS }, client);
  const stop = async () => {
    isOver = true;
    await Promise.all(clients);
  };
  return { answers, stop };
}

function ask(url: string, value: number, agent?: Agent): Promise<{ status?: number | undefined; body?: unknown }> {
  return new Promise((done) => {
    const sent = request(url, { method: "POST", agent }, (response) => {
      let text = "";
      response.setEncoding("utf8").on("data", (part: string) => {
        text += part;
      });
      response.on("end", () => done({ status: response.statusCode, body: JSON.parse(text).outputs?.[0] }));
      response.on("error", () => done({}));
    });
    sent.on("error", () => done({}));
    sent.end(JSON.stringify({ inputs: [value] }));
  });
}

test("one of fifty models that ends the process costs others what was in it, once, and nothing again", async () => {
  const program = startKserving(["--config", manyModels(), "--port=0", "--http-enable", "--http-port=0"]);
  const { http } = (await program.event("ready")) as unknown as { readonly http: string };
  const { answers, stop } = startClients(http);
  await expect.poll(() => new Set(answers.map(({ model }) => model)).size).toBe(MODELS - 1);
  const mortal = `${http}/v1/models/mortal:predict`;

  const since = performance.now();
  expect(await ask(mortal, SIGNAL)).toEqual({});
  const later = () => answers.filter(({ status, at }) => status === 200 && at > since);
  const isBack = () => new Set(later().map(({ model }) => model)).size === MODELS - 1;
  await expect.poll(isBack, { interval: 10 }).toBe(true);
  const lost = answers.filter(({ status }) => status === undefined);
  expect(lost.length).toBeLessThanOrEqual(CLIENTS);
  const firstMs = later().find(({ at }) => at > Math.max(...lost.map((each) => each.at)))!.at - since;
  expect(firstMs).toBeLessThan(MOST_MS);

  const before = answers.length;
  expect(await ask(mortal, SIGNAL)).toMatchObject({ status: 503 });
  await expect.poll(() => answers.length).toBeGreaterThan(before + MODELS * 4);
  await stop();
  expect(answers.slice(before).filter(({ status, isRight }) => status !== 200 || !isRight)).toEqual([]);
  expect(answers.filter(({ status, isRight }) => status !== undefined && !isRight)).toEqual([]);
  program.kill("SIGTERM");
  expect(await program.ended()).toMatchObject({ code: 0 });
});

import { once } from "node:events";
import { connect } from "node:http2";
import { describe, expect, it, onTestFinished, test, vi } from "vitest";
import type { Driver } from "../../../src/drivers/driver.ts";
import { frameBytes } from "../../../src/grpc/framed-message.ts";
import { endedRequests } from "../../../src/platform/limits/ended-requests.ts";
import { HeldPlaces, type PlaceHolder } from "../../../src/platform/limits/held-places.ts";
import type { ServerOptions } from "../../../src/server/server-options.ts";
import type { LocalService } from "../../../src/serving/local-service.ts";
import { repeatDriver } from "../../helpers/repeat-driver.ts";
import { startServer } from "../../helpers/start-server.ts";
import { tempFolder } from "../../helpers/temp-folder.ts";
import { kserveOracle } from "../../protocols/kserve/kserve-oracle.ts";

/** Holders, by the names that they are told by, of clients 1, 2, …; and those that wait, by their clients. */
function start() {
  vi.useFakeTimers({ toFake: ["performance", "setTimeout", "clearTimeout"] });
  onTestFinished(() => void vi.useRealTimers());
  const told: string[] = [];
  const waiting: number[] = [];
  const places = new HeldPlaces(() => waiting);
  const hold = (name: string, client: number, awaitedSince?: number) => {
    const holder: PlaceHolder = { client, awaitedSince, crowded: () => void told.push(name) };
    places.add(holder);
    return holder;
  };
  const wait = (...clients: number[]) => {
    waiting.splice(0, waiting.length, ...clients);
    places.watch();
  };
  return { places, told, hold, wait };
}

const second = (count = 1) => vi.advanceTimersByTime(1000 * count);

test("of answers whose readers take their time, one is told each second, of the client with most of them first", () => {
  const { told, hold, wait } = start();
  hold("few", 1, 1);
  hold("most, later", 2, 5);
  hold("most, longest", 2, 2);
  hold("most, not awaited", 2);
  wait(3);
  second();
  expect(told).toEqual(["most, longest"]);
  second(2);
  expect(told).toEqual(["most, longest", "most, later", "few"]);
  second();
  expect(told.at(-1)).toBe("most, longest");
});

test("none is told for those whose clients hold as many, nor once nobody waits, and no time is measured then", () => {
  const { places, told, hold, wait } = start();
  const [one, other] = [hold("a", 1, 1), hold("b", 2, 1)];
  wait(1, 2);
  second(3);
  expect(told).toEqual([]);
  wait(1, 2, 3);
  second();
  expect(told).toEqual(["a"]);
  wait();
  second();
  expect([told.length, vi.getTimerCount()]).toEqual([1, 0]);
  for (const holder of [one, other]) places.delete(holder);
  wait(3);
  expect(vi.getTimerCount()).toBe(0);
});

/** A model with two places, which answers once and in parts. */
const model = (placement?: Driver["placement"]) => ({
  stages: [{ driver: repeatDriver(placement), options: { places: "2" } }],
});
const file = (text: string) => `${tempFolder({ "hooks.mjs": text })}/hooks.mjs`;
const BEHIND = "export const postprocess = ({ y }) => ({ y });";
const CALLER = `
export async function* process(inputs, ctx) {
  for await (const { y } of ctx.models.get("m").stream(inputs)) yield { y };
}`;

const CALL = {
  ...{ ":method": "POST", ":path": "/inference.GRPCInferenceService/ModelStreamInfer", te: "trailers" },
  "content-type": "application/grpc",
};

/** A request whose answer has parts without end. */
function endless(name: string): Buffer {
  const inputs = [
    { name: "x", datatype: "INT32", shape: [0] },
    { name: "act", datatype: "BYTES", shape: [1], contents: { bytes_contents: [Buffer.from("endless")] } },
  ];
  return Buffer.concat(frameBytes(kserveOracle.encodeRequest({ model_name: name, inputs })));
}

const SERVERS: readonly (readonly [string, () => ServerOptions & { readonly asked?: string }])[] = [
  ["in the main thread", () => ({ models: { m: model("inline") } })],
  ["in its thread", () => ({ models: { m: model() } })],
  ["in a process", () => ({ models: { m: { ...model(), isolate: true } } })],
  ["behind hooks in a thread", () => ({ models: { m: { ...model(), hooks: file(BEHIND) } } })],
  [
    "that hooks of another model call",
    () => ({ models: { m: model(), caller: { stages: [{ driver: "null" }], hooks: file(CALLER) } }, asked: "caller" }),
  ],
];

describe.each(SERVERS)("a model %s whose places one client holds with answers that it does not read", (_, options) => {
  it("answers another client, and ends as many of them as that needs", async () => {
    const { asked = "m", ...rest } = options();
    const server = await startServer({ ...rest, clientKey: "header:x-client", workers: 1, listeners: 1 });
    (server.service as LocalService).memory.overload.configure({ minClientRate: 0, spanMs: 300 });
    const session = connect(`http://${server.grpcAddress}`);
    // Before the server closes, which would wait for them.
    onTestFinished(() => session.destroy());
    const ended = endedRequests.of("place");
    const open = () => server.inFlight().filter(({ model }) => model === asked).length;
    const answers = [0, 1].map(() => {
      const stream = session.request({ ...CALL, "x-client": "greedy" });
      stream.on("error", () => {}).write(endless(asked));
      // Comes with the first part: only then is a place taken.
      return once(stream, "response");
    });
    await Promise.all(answers);
    const body = JSON.stringify({ inputs: [{ name: "x", datatype: "INT32", shape: [1], data: [7] }] });
    const headers = { "x-client": "modest" };
    const answer = await fetch(`${server.httpUrl}/v2/models/m/infer`, { method: "POST", body, headers });
    expect([answer.status, await answer.json()]).toMatchObject([200, { outputs: [{ data: [7] }] }]);
    expect([endedRequests.of("place") - ended, open()]).toEqual([1, 1]);
  });
});

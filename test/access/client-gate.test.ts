import { Server, Socket } from "node:net";
import { beforeEach, expect, onTestFinished, test, vi } from "vitest";
import { LocalGate, openClientGate, openConnectionLimit } from "../../src/access/client-gate.ts";
import { TrustedProxies } from "../../src/access/trusted-proxies.ts";
import { DescriptorReserve } from "../../src/platform/limits/connection-limit.ts";
import { describeConnection } from "../../src/platform/limits/open-connections.ts";

const CALL = { address: "198.51.100.7", host: undefined, headers: {} };

async function* three(): AsyncIterable<Uint8Array> {
  for (const byte of [1, 2, 3]) yield Uint8Array.of(byte);
}

test("messages of a stream come at their client's rate, the first with its call", async () => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const gate = new LocalGate({ key: ({ address }) => address, rate: 2, burst: 1, maxInFlight: 0 });
  gate.enter(CALL);
  const got: (number | undefined)[] = [];
  const reading = (async () => {
    for await (const [byte] of gate.pace(CALL, three())) got.push(byte);
  })();
  await vi.advanceTimersByTimeAsync(0);
  expect(got).toEqual([1]);
  await vi.advanceTimersByTimeAsync(499);
  expect(got).toEqual([1]);
  await vi.advanceTimersByTimeAsync(1);
  expect(got).toEqual([1, 2]);
  await vi.advanceTimersByTimeAsync(500);
  await reading;
  expect(got).toEqual([1, 2, 3]);
});

test("a refusal is told with its client, to the caller and to who looks after the server", () => {
  const refused: string[][] = [];
  const onRefused = (...refusal: [string, string]) => void refused.push(refusal);
  const gate = new LocalGate({ key: ({ address }) => address, rate: 0, maxInFlight: 1, onRefused });
  const end = gate.enter(CALL);
  expect(() => gate.enter(CALL)).toThrow(expect.objectContaining({ code: "resource_exhausted" }));
  expect(refused).toEqual([[CALL.address, expect.stringContaining("1 request in flight")]]);
  end();
  gate.enter(CALL);
  gate.enterAs("another")();
  expect(refused).toHaveLength(1);
});

let lines: unknown[] = [];
const log = { warn: (...line: unknown[]) => void lines.push(line) };
beforeEach(() => {
  lines = [];
});

const OPTIONS = { clientKey: "address", clientRate: 0, clientMaxInFlight: 0, proxies: new TrustedProxies([]), log };

test("there is a gate where clients have a limit, and the key is read in any case", () => {
  expect(openClientGate(OPTIONS)).toBeUndefined();
  expect(() => openClientGate({ ...OPTIONS, clientKey: "ip" })).toThrow("--client-key");
  const byRate = openClientGate({ ...OPTIONS, clientRate: 0.1, clientBurst: 2 });
  for (let call = 0; call < 2; call++) byRate?.enter(CALL);
  expect(() => byRate?.enter(CALL)).toThrow("more than 0.1 requests per second (--client-rate; 2 at once");
  const untold = new LocalGate({ key: () => "a", rate: 0, maxInFlight: 1 });
  untold.enter(CALL);
  expect(() => untold.enter(CALL)).toThrow("1 request in flight");
  const byNumber = openClientGate({ ...OPTIONS, clientMaxInFlight: 1 });
  byNumber?.enter(CALL);
  expect(() => byNumber?.enter(CALL)).toThrow("1 request in flight");
});

test("the log tells of refusals once a while, with the client, but for the secret in its header", () => {
  for (const [clientKey, client] of [
    ["address", CALL.address],
    ["header:x-key", "(by its header)"],
  ] as const) {
    const gate = openClientGate({ ...OPTIONS, clientKey, clientMaxInFlight: 1 });
    const call = { ...CALL, headers: { "x-key": "secret" } };
    gate?.enter(call);
    for (let time = 0; time < 2; time++) expect(() => gate?.enter(call)).toThrow("1 request in flight");
    const message = "a client was refused: The client has 1 request in flight, the most that one may have";
    expect(lines.splice(0)).toEqual([[expect.stringContaining(message), { client }]]);
  }
});

/** A port with a limit of connections for all ports, or of its own, that connections from addresses come to. */
function openPort(max: number, { proxies = [], own }: { proxies?: readonly string[]; own?: number } = {}) {
  const limit = openConnectionLimit({ max, proxies: new TrustedProxies(proxies), log });
  const port = new Server();
  (own === undefined ? limit : limit.ofSidePort(own)).guard(port);
  const connect = (remoteAddress: string) => {
    const socket = Object.defineProperty(new Socket(), "remoteAddress", { value: remoteAddress });
    socket.on("error", () => {});
    port.emit("connection", socket);
    return socket;
  };
  return { port, connect };
}

const areGone = (sockets: readonly Socket[]) => sockets.map(({ destroyed }) => destroyed);
const MOST = ", the most that the server may have (--max-connections)";

test("a connection of a client that has most makes room for another client's, and the log says so once a while", () => {
  const { connect } = openPort(4);
  // One network of IPv6 is one client.
  const greedy = ["2001:db8::1", "2001:db8::2", "2001:db8::3", "2001:db8::4"].map(connect);
  expect(areGone([connect("2001:db8::5"), connect("2001:db8::5")])).toEqual([true, true]);
  expect(areGone([connect("::ffff:198.51.100.7"), connect("198.51.100.8")])).toEqual([false, false]);
  expect(areGone(greedy)).toEqual([true, true, false, false]);
  expect(lines).toEqual([
    [`connections are refused: there are 4${MOST}`],
    [`the client that has most loses idle connections: there are 4${MOST}`],
  ]);
});

test("clients of IPv4 are told apart on a port of IPv6", () => {
  const { connect } = openPort(3);
  const greedy = Array.from({ length: 3 }, () => connect("::ffff:198.51.100.7"));
  expect(areGone([connect("::ffff:198.51.100.8"), ...greedy])).toEqual([false, true, false, false]);
});

test("connections of a trusted proxy make no room", () => {
  const { connect } = openPort(2, { proxies: ["192.0.2.1"] });
  const proxied = [connect("192.0.2.1"), connect("::ffff:192.0.2.1")];
  expect(areGone([connect("198.51.100.7"), ...proxied])).toEqual([true, false, false]);
});

test("the log tells of a port's own limit, and of a connection that the system does not give", () => {
  const { port, connect } = openPort(0, { own: 1 });
  const busy = connect("198.51.100.7");
  const [isTrue, none] = [() => true, () => 0];
  describeConnection(busy, { isBusy: isTrue, isWorking: isTrue, movedBytes: none, end: () => expect.fail() });
  expect(areGone([connect("198.51.100.8"), busy])).toEqual([true, false]);
  expect(lines.splice(0)).toEqual([
    [expect.stringMatching(/^connections of the port for administration, .+ are refused: 1 are busy, the most/)],
  ]);
  expect(port.listenerCount("error")).toBe(0);
  openPort(1).port.emit("error", new Error("EMFILE"));
  expect(lines).toEqual([["a connection cannot be accepted: EMFILE"]]);
});

test("the log tells where descriptors come to an end, and what is done about it", () => {
  const take = vi.spyOn(DescriptorReserve.prototype, "take").mockReturnValue(100);
  onTestFinished(() => take.mockRestore());
  const left =
    "of 100 descriptors that the process may have (ulimit -n), only those are left that files and models need";
  openPort(0).connect("198.51.100.7");
  expect(lines.splice(0)).toEqual([[`connections are refused: ${left}`]]);
  const { connect } = openPort(0);
  take.mockReturnValueOnce(undefined);
  expect(areGone([connect("198.51.100.7"), connect("198.51.100.8")])).toEqual([true, false]);
  expect(lines).toEqual([[`connections are ended on which little or nothing moves: ${left}`]]);
});

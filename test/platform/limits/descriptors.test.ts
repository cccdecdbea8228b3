import { Server, Socket } from "node:net";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import {
  ConnectionLimit,
  type DescriptorCount,
  DescriptorReserve,
} from "../../../src/platform/limits/connection-limit.ts";

beforeEach(() => void vi.useFakeTimers({ toFake: ["performance"] }));
afterEach(() => void vi.useRealTimers());

/** A reserve of a process with so many descriptors, and the number of its counts. */
function reserveOf(count: () => DescriptorCount | undefined) {
  const counted = { times: 0 };
  const reserve = new DescriptorReserve(() => {
    counted.times++;
    return count();
  });
  return { reserve, counted };
}

test("a sixteenth of the descriptors is kept from connections", () => {
  let open = 14;
  const { reserve } = reserveOf(() => ({ open, max: 32 }));
  // Those that have come since the count, which has the first of them.
  expect(Array.from({ length: 18 }, () => reserve.take())).toEqual([...Array(17).fill(undefined), 32]);
  open = 31;
  expect(reserveOf(() => ({ open, max: 33 })).reserve.take()).toBe(33);
  expect(reserveOf(() => ({ open: 30, max: 33 })).reserve.take()).toBeUndefined();
});

test("descriptors are counted for every 64th connection while there are many", () => {
  const { reserve, counted } = reserveOf(() => ({ open: 0, max: 1000 }));
  for (let connection = 0; connection < 65; connection++) reserve.take();
  expect(counted.times).toBe(2);
});

test("a count of more than half of them is believed for a moment", () => {
  const { reserve, counted } = reserveOf(() => ({ open: 50, max: 100 }));
  for (const ms of [50, 1]) {
    reserve.take();
    vi.advanceTimersByTime(ms);
  }
  expect(counted.times).toBe(1);
  reserve.take();
  expect(counted.times).toBe(2);
});

test("where the system does not tell, connections take what there is", () => {
  const { reserve } = reserveOf(() => undefined);
  expect([reserve.take(), reserve.take()]).toEqual([undefined, undefined]);
});

/** Opens connections inside of a process with so many descriptors, of which as many threads open some. */
function innerOf(max: number, threads: number) {
  const descriptors = new DescriptorReserve(() => ({ open: 0, max }));
  const limit = new ConnectionLimit({ max: 0, onProblem: () => {}, descriptors });
  return { limit, open: (client: Socket) => limit.openInner(client, threads, () => new Socket()) };
}

test("a client has its share of the descriptors for connections inside of the process, and eight in any case", () => {
  const { open } = innerOf(1024, 2);
  const [one, other] = [new Socket(), new Socket()];
  const own = Array.from({ length: 64 }, () => open(one));
  expect(() => open(one)).toThrow(
    expect.objectContaining({ code: "resource_exhausted", message: expect.stringContaining("The client has 64 req") }),
  );
  own.pop()?.emit("close");
  own.push(open(one));
  expect(() => open(one)).toThrow("The client has 64 requests");
  for (let count = 0; count < 32; count++) open(other);
  expect(() => open(other)).toThrow("The client has 32 requests");
  for (const socket of own) socket.emit("close");
  for (let count = 0; count < 32; count++) open(other);
  expect(() => open(other)).toThrow("The client has 64 requests");
  const few = innerOf(64, 1);
  for (let count = 0; count < 8; count++) few.open(one);
  expect(() => few.open(one)).toThrow("The client has 8 requests");
});

test("connections inside of the process end an idle one for the last descriptors, and are refused where there is none", () => {
  const { limit, open } = innerOf(64, 1);
  const port = new Server();
  limit.guard(port);
  const idle: Socket = Object.defineProperty(new Socket(), "remoteAddress", { value: "a" });
  port.emit("connection", idle);
  const clients = Array.from({ length: 5 }, () => new Socket());
  const sockets = Array.from({ length: 30 }, (_, at) => open(clients[at % 4] as Socket));
  expect(idle.destroyed).toBe(false);
  const [last] = clients.slice(-1) as [Socket];
  open(last);
  expect(idle.destroyed).toBe(true);
  const refused = expect.objectContaining({
    code: "unavailable",
    message: expect.stringContaining("64 descriptors are"),
  });
  expect(() => open(last)).toThrow(refused);
  sockets[0]?.emit("close");
  expect(() => open(last)).toThrow(refused);
  sockets[1]?.emit("close");
  open(last);
});

import { Server, Socket } from "node:net";
import { expect, onTestFinished, test, vi } from "vitest";
import {
  ConnectionLimit,
  type ConnectionProblem,
  DescriptorReserve,
} from "../../../src/platform/limits/connection-limit.ts";
import { describeConnection } from "../../../src/platform/limits/open-connections.ts";
import { ThreadCounts } from "../../../src/platform/limits/thread-counts.ts";

/** Ports of a limit, to which connections come from addresses, on a clock that stops until it is told. */
function openPorts(
  max: number,
  options: { counts?: ThreadCounts; descriptors?: DescriptorReserve; side?: number } = {},
) {
  vi.useFakeTimers({ toFake: ["performance"] });
  onTestFinished(() => void vi.useRealTimers());
  const problems: ConnectionProblem[] = [];
  const limit = new ConnectionLimit({ max, onProblem: (problem) => problems.push(problem), ...options });
  const [port, side] = [new Server(), new Server()];
  limit.guard(port);
  limit.ofSidePort(options.side ?? 0).guard(side);
  const ended: Socket[] = [];
  const connect = (value: string, isBusy?: () => boolean, to = port, facts = {}) => {
    const socket: Socket = Object.defineProperty(new Socket(), "remoteAddress", { value });
    socket.on("error", () => {});
    const own = { isWorking: () => true, movedBytes: () => 0, end: () => void ended.push(socket) };
    if (isBusy !== undefined) describeConnection(socket, { isBusy, ...own, ...facts });
    to.emit("connection", socket);
    return socket;
  };
  return { connect, ended, problems, port, side };
}

const [idleUse, busyUse] = [() => false, () => true];

test("the oldest idle connection is ended in its protocol's form, of the client that has most, and of none that has fewer", () => {
  const { connect, ended, problems } = openPorts(5);
  const other = connect("b", idleUse);
  const greedy = [connect("a", busyUse), connect("a", idleUse), connect("a"), connect("a", idleUse)];
  expect(connect("c").destroyed).toBe(false);
  expect(ended).toEqual([greedy[1]]);
  expect(connect("d").destroyed).toBe(false);
  expect([greedy[2]?.destroyed, ended.length]).toEqual([true, 1]);
  expect(problems).toEqual([
    { kind: "shared", open: 5 },
    { kind: "shared", open: 6 },
  ]);
  // As many as two others have makes no room for a second one of theirs.
  expect(connect("b").destroyed).toBe(true);
  expect(problems.at(-1)).toEqual({ kind: "full", open: 7 });
  expect(other.destroyed).toBe(false);
});

test("a connection counts until it closes, for the threads together", () => {
  const memory = ThreadCounts.memoryFor(2);
  const counts = new ThreadCounts(memory, 0);
  const { connect } = openPorts(2, { counts });
  new ThreadCounts(memory, 1).enter(2);
  const first = connect("a");
  expect([first.destroyed, connect("b").destroyed]).toEqual([false, true]);
  first.emit("close");
  expect([connect("b").destroyed, connect("b").destroyed]).toEqual([false, true]);
});

test("a search that found none is believed for a moment, but for a client that has fewer", () => {
  let isBusy = true;
  const { connect, ended } = openPorts(5);
  for (let count = 0; count < 4; count++) connect("a", () => isBusy);
  connect("c");
  expect(connect("c").destroyed).toBe(true);
  isBusy = false;
  vi.advanceTimersByTime(49);
  expect([connect("c").destroyed, ended.length]).toEqual([true, 0]);
  expect([connect("d").destroyed, ended.length]).toEqual([false, 1]);
  isBusy = true;
  expect(connect("e").destroyed).toBe(true);
  isBusy = false;
  vi.advanceTimersByTime(49);
  expect(connect("e").destroyed).toBe(true);
  vi.advanceTimersByTime(1);
  expect([connect("e").destroyed, ended.length]).toEqual([false, 2]);
});

test("a client that has its part of all connections, or would have as many as any other, ends none", () => {
  const { connect } = openPorts(4);
  const first = ["a", "a", "a", "b"].map((client) => connect(client));
  expect([connect("b").destroyed, first[0]?.destroyed]).toEqual([false, true]);
  expect(connect("b").destroyed).toBe(true);
  expect(connect("c").destroyed).toBe(false);
  expect(first.map(({ destroyed }) => destroyed)).toEqual([true, true, false, false]);
});

test("a side port's connections make room for each other alone, and are counted apart", () => {
  const { connect, problems, ended, side } = openPorts(1, { side: 2 });
  const main = connect("a");
  const connectAside = (isBusy?: () => boolean) => connect("a", isBusy, side);
  const [first, second] = [connectAside(busyUse), connectAside(idleUse)];
  expect([connectAside(busyUse).destroyed, ended]).toEqual([false, [second]]);
  expect([connectAside().destroyed, main.destroyed]).toEqual([true, false]);
  expect(problems).toEqual([{ kind: "side", open: 2 }]);
  first?.emit("close");
  expect(connectAside().destroyed).toBe(false);
});

test("where no descriptor is left, an idle connection of any client makes room, and a busy one never", () => {
  let open = 60;
  const descriptors = new DescriptorReserve(() => ({ open, max: 100 }));
  const { connect, problems, ended } = openPorts(0, { descriptors });
  const [busy, idleOne] = [connect("a", busyUse), connect("a", idleUse)];
  open = 100;
  vi.advanceTimersByTime(51);
  expect([connect("b", busyUse).destroyed, ended]).toEqual([false, [idleOne]]);
  expect([connect("c").destroyed, busy?.destroyed]).toEqual([true, false]);
  expect(problems).toEqual([
    { kind: "descriptors", max: 100, hasEnded: true },
    { kind: "descriptors", max: 100, hasEnded: false },
  ]);
});

test("a busy connection makes room that waits for its client, where next to nothing has moved since the last look", () => {
  const { connect, ended, problems, port } = openPorts(4);
  const moved = [1000, 1000, 1000, 1000];
  const greedy = moved.map((_, at) =>
    connect("a", busyUse, port, { isWorking: () => at === 0, movedBytes: () => moved[at] }),
  );
  expect(connect("c").destroyed).toBe(true);
  vi.advanceTimersByTime(2000);
  // 256 bytes per second, and one more.
  [moved[1], moved[2]] = [1513, 1512];
  expect([connect("c").destroyed, ended]).toEqual([false, [greedy[2]]]);
  expect(problems.at(-1)).toEqual({ kind: "quiet", open: 4 });
  moved[3] = 1513;
  expect(connect("d").destroyed).toBe(true);
  vi.advanceTimersByTime(50);
  moved[3] = 1512;
  expect([connect("d").destroyed, ended]).toEqual([false, [greedy[2], greedy[3]]]);
});

test("a look of more than two minutes ago says nothing of what has moved since", () => {
  for (const [ms, isRefused] of [
    [120_000, false],
    [120_001, true],
  ] as const) {
    const { connect, port } = openPorts(4);
    for (let count = 0; count < 4; count++) connect("a", busyUse, port, { isWorking: () => false });
    connect("c");
    vi.advanceTimersByTime(ms);
    expect(connect("c").destroyed).toBe(isRefused);
  }
});

test("a connection that could not be accepted is told", () => {
  const { port, problems } = openPorts(1);
  const error = new Error("EMFILE");
  port.emit("error", error);
  expect(problems).toEqual([{ kind: "accept", error }]);
});

import { expect, onTestFinished, test, vi } from "vitest";
import { END_REASONS, type EndedRequest, endedRequests } from "../../../src/platform/limits/ended-requests.ts";
import { MemoryBudget } from "../../../src/platform/limits/memory/memory-budget.ts";
import type { MemoryShare } from "../../../src/platform/limits/memory/memory-share.ts";
import type { OverloadRules, Transfer } from "../../../src/platform/limits/overload-manager.ts";
import { SERVER_DEFAULTS } from "../../../src/platform/limits/settings/server-settings.ts";
import { ThreadCounts } from "../../../src/platform/limits/thread-counts.ts";

/** A message that a test moves on. */
class Message implements Transfer {
  movedBytes = 0;
  leftBytes = 1000;
  stepBytes = 0;
  isClientsTurn = true;
  isFromBackend?: boolean;
  readonly errors: string[] = [];

  end({ code, message }: { readonly code: string; readonly message: string }): void {
    this.errors.push(`${code}: ${message}`);
  }
}

/** A budget of 10 MB on a clock that stops until it is told, whose requests are looked at each 100 ms. */
function start(rules: Partial<OverloadRules> = {}, counts?: ThreadCounts) {
  vi.useFakeTimers({ toFake: ["performance", "setTimeout", "clearTimeout"] });
  const budget = new MemoryBudget(10_000_000, counts);
  const ended: EndedRequest[] = [];
  const onEnded = (request: EndedRequest) => void ended.push(request);
  budget.overload.configure({ minClientRate: 1000, spanMs: 3000, onEnded, ...rules });
  const shares: MemoryShare[] = [];
  const open = (client: string) => {
    const share = budget.open(0, client);
    shares.push(share);
    return share;
  };
  onTestFinished(() => {
    for (const share of shares) share.release();
    budget.close();
    vi.useRealTimers();
  });
  /** A request of a client that holds so much, and whose message is being received. */
  const hold = (client: string, bytes: number, facts: Partial<Message> = {}) => {
    const share = open(client);
    const message = Object.assign(new Message(), facts);
    if (bytes > 0) share.grow(bytes);
    share.receiving = message;
    return { share, message };
  };
  const makeRoom = (bytes: number, share = open("newcomer")) => budget.overload.makeRoom(bytes, share);
  return { budget, ended, open, hold, makeRoom };
}

const look = (times = 1) => vi.advanceTimersByTime(100 * times);
const SLOW = "less than 1000 bytes per second (--min-client-rate)";

test("who moves as many bytes as the minimum in each span goes on, and one byte less is too few", () => {
  const { ended, hold } = start();
  const counted = END_REASONS.map((reason) => endedRequests.of(reason));
  const { message } = hold("a", 10);
  look();
  for (const bytes of [3000, 3000, 2999]) {
    expect(message.errors).toEqual([]);
    look(29);
    message.movedBytes += bytes;
    look();
  }
  const told = `The client sends or takes ${SLOW}; go on faster.`;
  expect(message.errors).toEqual([`deadline_exceeded: ${told}`]);
  expect(ended).toEqual([{ reason: "slow", direction: "receiving", client: "a", bytes: 10, message: told }]);
  expect(END_REASONS.map((reason, at) => endedRequests.of(reason) - (counted[at] ?? 0))).toEqual([1, 0, 0]);
});

test("what a transport learns of in steps has the time of a step more, and may lack one", () => {
  const { hold } = start();
  const facts = { stepBytes: 500 };
  const [enough, few] = [hold("a", 10, facts).message, hold("a", 10, facts).message];
  look(35);
  [enough.movedBytes, few.movedBytes] = [3000, 2999];
  expect(few.errors).toEqual([]);
  look();
  expect([enough.errors.length, few.errors.length]).toEqual([0, 1]);
});

test("an answer comes before a message, and that of a server behind is told as such", () => {
  const { ended, hold } = start();
  const { share, message } = hold("a", 10);
  const other = hold("b", 10);
  const answer = Object.assign(new Message(), { isFromBackend: true });
  const paused = Object.assign(new Message(), { isClientsTurn: false });
  share.sending = answer;
  other.share.sending = paused;
  look(31);
  const told = `deadline_exceeded: The server behind this one sends ${SLOW} of its answer; look at that server, and send the request again.`;
  expect([answer.errors, message.errors, paused.errors]).toEqual([[told], [], []]);
  expect(other.message.errors).toHaveLength(1);
  expect(ended.map(({ client, direction }) => [client, direction])).toEqual([
    ["a", "sending"],
    ["b", "receiving"],
  ]);
  expect([share.sending, share.receiving, share.bytes]).toEqual([undefined, undefined, 0]);
});

test("a new message, and one that its client waits for no longer, begins its span anew", () => {
  const { hold } = start();
  const [swapped, paused] = [hold("a", 10), hold("a", 10)];
  look(20);
  const next = new Message();
  swapped.share.receiving = next;
  paused.message.isClientsTurn = false;
  look();
  paused.message.isClientsTurn = true;
  look(29);
  expect([next.errors, paused.message.errors]).toEqual([[], []]);
  look();
  expect([next.errors.length, paused.message.errors.length]).toEqual([1, 0]);
  look();
  expect(paused.message.errors).toHaveLength(1);
});

test("nothing is looked at while there is no request, nor once a server has ended", () => {
  const { budget, hold } = start();
  hold("a", 10).share.release();
  expect(vi.getTimerCount()).toBe(1);
  look();
  expect(vi.getTimerCount()).toBe(0);
  const { message } = hold("a", 10);
  expect(vi.getTimerCount()).toBe(1);
  budget.overload.close();
  look(100);
  expect(message.errors).toEqual([]);
});

test("who waits for its client may be ended for others, and its memory counts for what is announced", () => {
  const { budget, open, hold, makeRoom } = start();
  hold("a", 5);
  hold("b", 7);
  open("c").grow(9_000_000);
  expect(budget.overload.waitingBytes()).toBe(12);
  expect(makeRoom(1)).toBe(false);
});

test("nothing is ended for the server itself, nor for a while where nothing was found", () => {
  const { ended, open, hold, makeRoom } = start();
  const { share } = hold("a", 5_000_000);
  const newcomer = open("b");
  expect(makeRoom(1, newcomer)).toBe(false);
  share.grow(1);
  expect(makeRoom(1, open(""))).toBe(false);
  const over = open("c");
  over.release();
  expect(() => over.grow(5_000_000)).toThrow(expect.objectContaining({ code: "cancelled" }));
  vi.advanceTimersByTime(49);
  expect(makeRoom(1, newcomer)).toBe(false);
  vi.advanceTimersByTime(1);
  expect(makeRoom(1, newcomer)).toBe(true);
  expect(ended).toEqual([
    {
      ...{ reason: "memory", direction: "receiving", client: "a", bytes: 5_000_001 },
      message:
        "The request held 5000001 bytes that others needed, and came or went more slowly than theirs; send it again later, or faster.",
    },
  ]);
});

test("what lasts longest is ended first, of equals what holds most, and no more than is needed", () => {
  const { ended, hold, makeRoom } = start();
  hold("a", 0, { leftBytes: 9000 });
  hold("a", 1_500_000);
  hold("a", 1_000_000, { leftBytes: 5000 });
  for (const bytes of [4_000_000, 2_000_000]) hold("a", bytes);
  expect(makeRoom(5_000_000)).toBe(true);
  expect(ended.map(({ bytes }) => bytes)).toEqual([1_000_000, 4_000_000]);
  expect(makeRoom(1)).toBe(false);
});

test("another client gives way where it has more than its share, and more than the newcomer is to have", () => {
  const { ended, open, hold, makeRoom } = start();
  const first = hold("a", 4_000_000);
  // Who holds nothing has no share.
  open("c");
  expect(makeRoom(1)).toBe(false);
  first.share.grow(2_000_000);
  const { share } = hold("b", 3_000_000);
  expect(makeRoom(3_000_000, share)).toBe(false);
  vi.advanceTimersByTime(50);
  expect(makeRoom(2_999_999, share)).toBe(true);
  expect(ended.map(({ client }) => client)).toEqual(["a"]);
});

test("a client's own request gives way once its speed is known, if it lasts ten seconds and longer than the newcomer", () => {
  const { budget, open, hold } = start({ minClientRate: 0 });
  const ofSame = (leftBytes?: number) => {
    const { share } = leftBytes === undefined ? { share: open("a") } : hold("a", 0, { leftBytes });
    const isMade = budget.overload.makeRoom(1, share);
    share.release();
    vi.advanceTimersByTime(50);
    return isMade;
  };
  const { share, message } = hold("a", 4_000_000, { leftBytes: 20 * 1024 * 1024 });
  expect(ofSame()).toBe(false);
  look();
  expect(ofSame()).toBe(false);
  vi.advanceTimersByTime(50);
  message.movedBytes += 10;
  look();
  const rate = 100;
  expect(share.pace).toMatchObject({ isKnown: true, bytesPerSecond: rate });
  message.leftBytes = 10 * rate;
  expect(ofSame()).toBe(false);
  message.leftBytes = 15 * rate;
  expect(ofSame(16 * 1024 * 1024)).toBe(false);
  expect(ofSame(14 * 1024 * 1024)).toBe(true);
  expect(message.errors).toEqual([expect.stringMatching(/^unavailable: /)]);
});

test("a speed is known from the second look on", () => {
  const { budget, open, hold } = start({ minClientRate: 0 });
  const { message } = hold("a", 4_000_000);
  look();
  expect(budget.overload.makeRoom(1, open("a"))).toBe(false);
  message.movedBytes += 1;
  look();
  expect(budget.overload.makeRoom(1, open("a"))).toBe(true);
});

test("a client's own request that has paused for one look goes on at the speed before, and after two has none", () => {
  const { budget, open, hold } = start({ minClientRate: 0 });
  const { message } = hold("a", 4_000_000);
  look();
  message.movedBytes += 1000;
  look(2);
  expect(budget.overload.makeRoom(1, open("a"))).toBe(false);
  look();
  expect(budget.overload.makeRoom(1, open("a"))).toBe(true);
});

test("a part is looked at by itself once that is asked for, until it is released", () => {
  const { budget, hold } = start();
  const { share, message } = hold("a", 30);
  share.receiving = undefined;
  const part = share.split(10);
  part.receiving = message;
  expect(budget.overload.waitingBytes()).toBe(0);
  part.watch();
  expect(budget.overload.waitingBytes()).toBe(10);
  part.release();
  part.watch();
  expect(budget.overload.waitingBytes()).toBe(0);
  look(40);
  expect(message.errors).toEqual([]);
});

test("a part that finds no room ends neither itself nor the request that it is a part of", () => {
  const { hold } = start({ minClientRate: 0 });
  const whole = hold("b", 1_000_000);
  const ofWhole = whole.share.split(500_000);
  const { share, message } = hold("a", 4_000_000);
  share.receiving = undefined;
  const part = share.split(3_000_000);
  part.receiving = message;
  part.watch();
  look(3);
  expect(part.pace?.isKnown).toBe(true);
  for (const each of [part, ofWhole])
    expect(() => each.grow(7_000_000)).toThrow(expect.objectContaining({ code: "unavailable" }));
  expect([message.errors, whole.message.errors]).toEqual([[], []]);
});

test("who holds a place for which others wait is ended once its client was waited for two thirds of a span", () => {
  const { ended, hold } = start({ minClientRate: 0 });
  const [slow, quick, fast, upload] = [hold("slow", 10), hold("quick", 10), hold("fast", 10), hold("upload", 10)];
  for (const { share, message } of [slow, quick, fast]) [share.receiving, share.sending] = [undefined, message];
  const crowd = () => {
    for (const { share } of [slow, quick, fast, upload]) share.endHeldPlace();
  };
  crowd();
  for (let time = 0; time < 29; time++) {
    quick.message.isClientsTurn = time % 3 > 0;
    fast.message.movedBytes += 1024 * 1024;
    look();
  }
  quick.message.isClientsTurn = true;
  crowd();
  expect(ended).toEqual([]);
  fast.message.movedBytes += 1024 * 1024;
  look();
  crowd();
  expect(ended.map(({ reason, client }) => [reason, client])).toEqual([["place", "slow"]]);
  expect(slow.message.errors).toEqual([expect.stringMatching(/^unavailable: The client takes its answer more slowly/)]);
});

test("a part of a stream that holds such a place ends the stream, unless that is working just then", () => {
  const { ended, hold } = start({ minClientRate: 0 });
  const { share, message } = hold("a", 10);
  [share.receiving, share.sending] = [undefined, message];
  const part = share.split(5);
  look(30);
  message.isClientsTurn = false;
  part.endHeldPlace();
  expect(ended).toEqual([]);
  message.isClientsTurn = true;
  part.endHeldPlace();
  expect(ended).toMatchObject([{ reason: "place", bytes: 10 }]);
});

test("what another thread has no room for is given at the next look, unless there is room by then", () => {
  const memory = ThreadCounts.memoryFor(2);
  const [holding, asking] = [0, 1].map((thread) => start({ minClientRate: 0 }, new ThreadCounts(memory, thread)));
  const greedy = asking?.open("c");
  greedy?.grow(3_000_000);
  const held = holding?.hold("a", 10_000_000 - 2930 * 1024);
  expect(() => greedy?.grow(3_000_000)).toThrow(expect.objectContaining({ code: "unavailable" }));
  expect(new ThreadCounts(memory, 0).wished).toBe(0);
  greedy?.release();
  const newcomer = asking?.open("b");
  const ask = () => {
    expect(() => newcomer?.grow(3_000_000)).toThrow(expect.objectContaining({ code: "unavailable" }));
    look();
    return holding?.ended.map(({ client, reason }) => [client, reason]);
  };
  // With the whole kilobytes of the wish it is full to the last byte.
  expect(ask()).toEqual([]);
  expect(new ThreadCounts(memory, 0).wished).toBe(0);
  held?.share.grow(1);
  expect(ask()).toEqual([["a", "memory"]]);
  newcomer?.grow(3_000_000);
});

test("a server that sets no rules has the default minimum", () => {
  start();
  const budget = new MemoryBudget(1000);
  const [share, message] = [budget.open(0, "a"), new Message()];
  share.receiving = message;
  vi.advanceTimersByTime(30_999);
  expect(message.errors).toEqual([]);
  vi.advanceTimersByTime(1);
  const rate = `less than ${SERVER_DEFAULTS.minClientRate} bytes per second (--min-client-rate)`;
  expect(message.errors).toEqual([`deadline_exceeded: The client sends or takes ${rate}; go on faster.`]);
  budget.close();
});

test("thousands are looked at in several turns of the event loop, each at every look", async () => {
  const { hold } = start();
  const messages = Array.from({ length: 600 }, () => hold("a", 1).message);
  const endedNow = () => messages.filter(({ errors }) => errors.length > 0).length;
  for (let time = 0; time < 30; time++) {
    look();
    await new Promise(setImmediate);
  }
  expect(endedNow()).toBe(0);
  look();
  expect(endedNow()).toBe(512);
  await new Promise(setImmediate);
  expect(endedNow()).toBe(600);
});

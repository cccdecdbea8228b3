import { describe, expect, test } from "vitest";
import {
  type MemoryBook,
  measuredSize,
  planRoom,
  type RoomAction,
  reservedSize,
  roomWakeOf,
} from "../../../src/serving/plan/memory.ts";

const MB = 2 ** 20;
const NOW = 100_000;

/** The number before a word, as in `80 used`; undefined if that is not there. */
const numberOf = (words: string, name: string) => {
  const found = new RegExp(`(-?\\d+)s? ${name}`).exec(words)?.[1];
  return found === undefined ? undefined : Number(found);
};

/** The books of 100 MB by words: `80 used, 1 loads of 30, -3s last load`. */
function toBook(words: string): MemoryBook {
  const used = numberOf(words, "used") ?? 0;
  const loading = Number(/loads of (\d+)/.exec(words)?.[1] ?? 0);
  const lastLoad = NOW + 1000 * (numberOf(words, "last load") ?? -90);
  const maxBytes = words.includes("no limit") ? Number.POSITIVE_INFINITY : 100 * MB;
  return { maxBytes, usedBytes: used * MB, loads: numberOf(words, "loads") ?? 0, loadingBytes: loading * MB, lastLoad };
}

/** Copies by words: `a 30 at 2, b 40 at 1` are megabytes, and the times of their last uses. */
function toIdle(words: string) {
  return [...words.matchAll(/(\w) (\d+) at (\d+)/g)].map(([, name, megabytes, lastUse]) => {
    return { name, memoryBytes: Number(megabytes) * MB, lastUse: Number(lastUse) };
  });
}

function toText(action: RoomAction<{ readonly name: string | undefined }> | undefined): string {
  if (action === undefined) return "wait";
  if (action.do === "park") return `${action.row} park ${action.copies.map(({ name }) => name).join(" ")}`;
  return action.do === "refuse" ? `${action.row} refuse: ${action.error.message}` : `${action.row} ${action.do}`;
}

describe("a load of 50 MB", () => {
  test.each([
    ["0 used", "", "R2 take"],
    ["50 used", "", "R2 take"],
    ["51 used", "", "wait"],
    ["51 used", "a 2 at 1", "R6 park a"],
    ["90 used", "a 30 at 2, b 30 at 1, c 30 at 3", "R6 park b a"],
    ["90 used", "a 20 at 2, b 10 at 1", "wait"],
    ["90 used, waits -10s since", "", "wait"],
    ["90 used, waits -11s since", "a 40 at 1", "R6 park a"],
    ["90 used, waits -11s since", "a 30 at 1", "R7 refuse: m needs about 50 MB, and the models that are in use"],
    ["90 used, waits -21s since", "a 40 at 1", "R7 refuse: m needs about 50 MB, and the models that are in use"],
    ["90 used, waits -11s since, -9s last load", "", "wait"],
    ["90 used, waits -59s since, 1 loads of 10", "", "wait"],
    ["90 used, waits -61s since, 1 loads of 10", "", "R7 refuse: m needs about 50 MB, and the models that are in use"],
    ["0 used, 50 free", "", "R2 take"],
    ["0 used, 49 free", "a 40 at 1", "R4 refuse: m needs about 50 MB, and this machine has 49 MB free"],
    ["30 used, 70 free, 1 loads of 30", "", "wait"],
    ["30 used, 80 free, 1 loads of 30", "", "R2 take"],
    ["90 used, 9 free", "a 40 at 1", "R6 park a"],
    ["900 used, no limit", "a 40 at 1", "R2 take"],
    ["90 used, waits -11s since, 1s again", "a 40 at 1", "R3 wait"],
    ["90 used, 0s again", "a 40 at 1", "R6 park a"],
    ["50 used, 1s again", "", "R2 take"],
    ["90 used, 20 promised", "a 40 at 2, b 20 at 1", "R6 park b a"],
    ["90 used, 20 promised", "a 40 at 1", "wait"],
    ["90 used, -40 promised, waits -90s since", "a 40 at 1", "R5 wait"],
    ["90 used, -20 promised", "a 20 at 2, b 20 at 1", "R6 park b"],
  ])("with %s, and %j idle: %s", (words, idle, expected) => {
    const free = numberOf(words, "free");
    const [since, again] = ["since", "again"].map((name) => NOW + 1000 * (numberOf(words, name) ?? 0));
    const need = { what: "m", bytes: 50 * MB, since: since ?? NOW, again: again ?? NOW };
    const left = free === undefined ? undefined : { bytes: free * MB, of: "this machine" };
    const promisedBytes = (numberOf(words, "promised") ?? 0) * MB;
    const action = planRoom({ need, book: toBook(words), idle: toIdle(idle), promisedBytes, free: left, now: NOW });
    expect(toText(action).slice(0, expected.length)).toBe(expected);
  });
});

test("a load that is larger than the limit is refused at once, and one of nothing makes room for what has grown", () => {
  const plan = (megabytes: number, idle: string) =>
    toText(
      planRoom({
        need: { what: "m", bytes: megabytes * MB, since: NOW },
        book: toBook("110 used"),
        idle: toIdle(idle),
        now: NOW,
      }),
    );
  expect(plan(101, "a 200 at 1")).toContain("R1 refuse: m needs about 101 MB, and all models together may have 100 MB");
  expect(plan(0, "a 20 at 1")).toBe("R6 park a");
});

test("a load that waits is planned again when its time is up, or when it may choose copies again", () => {
  const wakeS = (again: number, books: string) =>
    (roomWakeOf({ what: "m", bytes: MB, since: NOW, again }, toBook(books), NOW) - NOW) / 1000;
  expect([wakeS(0, ""), wakeS(0, "1 loads of 10"), wakeS(0, "5s last load")]).toEqual([10.001, 60.001, 15.001]);
  expect(roomWakeOf({ what: "m", bytes: MB, since: NOW - 60_000 }, toBook(""), NOW)).toBe(NOW + 100);
  expect([wakeS(NOW + 2000, ""), wakeS(Number.POSITIVE_INFINITY, "")]).toEqual([2, Number.POSITIVE_INFINITY]);
});

test("a size is what it was the last time, less where its files are smaller now", () => {
  expect(reservedSize(10, undefined)).toBe(10);
  expect(reservedSize(10, { expected: 10, bytes: 30 })).toBe(30);
  expect(reservedSize(5, { expected: 10, bytes: 30 })).toBe(15);
  expect(reservedSize(20, { expected: 10, bytes: 15 })).toBe(20);
});

test("an estimate grows by what the process took, within bounds, but for small models", () => {
  const sizes = [undefined, 20, 100, 1000].map((grown) => measuredSize(40 * MB, grown && grown * MB) / MB);
  expect(sizes).toEqual([40, 40, 100, 160]);
  expect(measuredSize(20 * MB, 100 * MB)).toBe(20 * MB);
});

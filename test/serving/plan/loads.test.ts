import { describe, expect, test } from "vitest";
import {
  afterAction,
  afterEvent,
  type Load,
  type LoadAction,
  type LoadEvent,
  type LoadFacts,
  loadWakeOf,
  orderLoad,
  planLoad,
} from "../../../src/serving/plan/loads.ts";

const NOW = 100_000;
const ORDER = orderLoad({ version: 3n, timeoutMs: 5000, retries: 2, maxPauseMs: 3000 });
const PLAIN: LoadFacts = {
  kept: "nothing",
  hasNeeds: false,
  isFetched: false,
  isWanted: true,
  hasTurn: false,
};

/** Loads by words: `loading 5s` (left), `failed`, `failed last`, `queued at once`, `due after needs`, `… cancelled`. */
function toLoad(words: string): Load {
  const [is = "", time = "0s"] = words.split(" ");
  const until = NOW + 1000 * Number.parseFloat(time);
  const stages: Readonly<Record<string, Load["at"]>> = {
    due: { is: "due" },
    after: { is: "due", after: words.includes("files") ? "files" : "needs" },
    needing: {
      ...{ is: "needing", until: words.includes("late") ? Number.POSITIVE_INFINITY : until },
      ...{ isLate: words.includes("late"), told: words.includes("told") ? "It needs b." : "" },
    },
    preparing: { is: "preparing", step: "files" },
    loading: { is: "loading", hasPlace: true, until },
    leaving: { is: "leaving", hasPlace: true, until, reason: "too long" },
    failed: { is: "failed", reason: "no file", isFree: words.includes("fetching") },
    resting: { is: "resting", until },
  };
  return {
    ...ORDER,
    at: stages[is] ?? (is === "queued" ? { is } : is === "loaded" ? { is } : { is: "over" }),
    triesLeft: words.includes("last") ? 0 : 2,
    isAtOnce: words.includes("at once"),
    ...(words.includes("cancelled") && { cancelled: { reason: "not wanted" } }),
  };
}

function toFacts(words: string): LoadFacts {
  const is = (name: string) => words.includes(name);
  return {
    kept: is("served") ? "all" : is("hooks alone") ? "model" : "nothing",
    hasNeeds: is("needs"),
    lack: is("lacks") ? { text: "It needs b.", isSettled: is("lacks for good") } : undefined,
    isFetched: is("fetched"),
    isWanted: !is("others wanted"),
    hasTurn: is("turn"),
  };
}

function toText(action: LoadAction | undefined): string {
  if (action === undefined) return "wait";
  const { row, do: what } = action;
  if (what === "prepare") return `${row} prepare ${action.step}`;
  if (what === "tell") return `${row} tell: ${action.text}`;
  if (what === "load") return `${row} load${action.hasPlace ? "" : " without a place"}`;
  if (what === "fail")
    return `${row} fail${action.isTriedAgain ? ", to be tried again" : ""}${action.isLast ? ", and end" : ""}`;
  if (what === "give up" || what === "end") return `${row} ${what}: ${text(action.reason)}`;
  return `${row} ${what}`;
}

function text(reason: unknown): string {
  return reason instanceof Error ? reason.message : String(reason);
}

describe("a load", () => {
  test.each([
    ["due", "", "L5 queue"],
    ["due", "hooks alone, needs, fetched", "L2 prepare hooks"],
    ["due", "served, hooks alone, needs, fetched", "L0 keep"],
    ["after needs", "served", "L5 queue"],
    ["due", "needs, fetched", "L3 look for needs"],
    ["needing 5s", "needs", "N1 go on"],
    ["needing 5s", "needs, lacks one", "wait"],
    ["needing 5s", "needs, lacks for good", "N3 tell: It needs b."],
    ["needing 5s told", "needs, lacks for good", "wait"],
    ["needing 0s", "needs, lacks one", "N2 need longer"],
    [
      "needing late told",
      "needs, lacks one",
      "N3 tell: It needs b. It was waited for 5000 ms (--load-timeout), and is waited for further.",
    ],
    ["needing late told", "needs, lacks for good", "wait"],
    ["needing 5s cancelled", "needs", "L1 end: not wanted"],
    ["after needs", "needs, fetched", "L4 prepare files"],
    ["after files", "needs, fetched", "L5 queue"],
    ["preparing", "", "wait"],
    ["preparing cancelled", "", "wait"],
    ["queued", "", "wait"],
    ["queued", "its turn", "G2 load"],
    ["queued at once", "", "G1 load without a place"],
    ["queued cancelled", "its turn", "L1 end: not wanted"],
    [
      "queued",
      "its turn, others wanted",
      "L1 end: other files have replaced these, and no request waits for them any more",
    ],
    ["due cancelled", "others wanted", "L1 end: not wanted"],
    ["loading 5s", "others wanted", "wait"],
    ["loading 5s", "", "wait"],
    ["loading 0s", "", "L6 give up: Version 3 has not loaded within 5000 ms (--load-timeout), and is given up."],
    ["loading 5s cancelled", "", "L1 give up: not wanted"],
    ["leaving 1s", "", "wait"],
    ["leaving 1s cancelled", "", "wait"],
    ["leaving 0s", "", "L7 let go"],
    ["loaded", "", "L8 serve"],
    ["loaded cancelled", "", "L8 serve"],
    ["failed", "", "L10 fail, to be tried again"],
    ["failed", "others wanted", "L9 fail, to be tried again, and end"],
    ["failed last", "", "L9 fail, and end"],
    ["failed fetching, last", "", "L9 fail, and end"],
    ["failed cancelled", "", "L1 end: not wanted"],
    ["resting 1s", "", "wait"],
    ["resting 0s", "", "L11 try again"],
    ["resting 1s cancelled", "", "L1 end: not wanted"],
    ["over", "", "wait"],
  ])("that is %s, with %j: %s", (words, facts, expected) => {
    expect(toText(planLoad(toLoad(words), toFacts(facts), NOW))).toBe(expected);
  });
});

/** A load through its events, and the actions between them, each a second after the one before; and the time left. */
function follow(order: Load, events: readonly (LoadEvent | "time")[], facts: LoadFacts = { ...PLAIN, hasTurn: true }) {
  let [load, now] = [order, NOW];
  const done: string[] = [];
  const act = () => {
    for (let action = planLoad(load, facts, now); action !== undefined; action = planLoad(load, facts, now)) {
      done.push(toText(action).split(":")[0] ?? "");
      load = afterAction(load, action, now);
    }
  };
  act();
  for (const event of events) {
    if (event === "time") now = loadWakeOf(load);
    else load = afterEvent(load, event);
    done.push(`${event === "time" ? `${now - NOW} ms` : event.is}:`);
    act();
  }
  return done;
}

const FAILED = { is: "failed", reason: "no file" } as const;

describe("the way of a load", () => {
  test("rests twice as long after each try, up to the longest pause, and ends with the last", () => {
    expect(follow(ORDER, [FAILED, "time", FAILED, "time", FAILED])).toEqual([
      ...["L5 queue", "G2 load", "failed:", "L10 fail, to be tried again", "1000 ms:", "L11 try again"],
      ...["L5 queue", "G2 load", "failed:", "L10 fail, to be tried again", "3000 ms:", "L11 try again"],
      ...["L5 queue", "G2 load", "failed:", "L9 fail, and end"],
    ]);
    const many = follow({ ...ORDER, triesLeft: 9 }, [FAILED, "time", FAILED, "time", FAILED, "time"]);
    expect(many.filter((step) => step.endsWith("ms:"))).toEqual(["1000 ms:", "3000 ms:", "6000 ms:"]);
  });

  test("tries a download as long as there is a try left, without using one up", () => {
    const facts = { ...PLAIN, hasTurn: true, isFetched: true };
    const steps = follow(
      { ...ORDER, triesLeft: 1 },
      [FAILED, "time", FAILED, "time", { is: "prepared" }, FAILED, "time"],
      facts,
    );
    expect(steps.filter((step) => step.includes("fail,"))).toEqual(Array(3).fill("L10 fail, to be tried again"));
    expect(steps.at(-1)).toBe("L4 prepare files");
  });

  test("is given up in time, fails once that has ended or after a second, and hears nothing that comes later", () => {
    expect(follow({ ...ORDER, triesLeft: 0 }, ["time", { is: "loaded" }, "time", { is: "ended" }])).toEqual([
      ...["L5 queue", "G2 load", "5000 ms:", "L6 give up", "loaded:", "6000 ms:", "L7 let go", "L9 fail, and end"],
      "ended:",
    ]);
    const ended = follow({ ...ORDER, triesLeft: 0 }, ["time", { is: "ended" }]);
    expect(ended.slice(-2)).toEqual(["ended:", "L9 fail, and end"]);
  });

  test("is over once its hooks are replaced alone, whatever else it has", () => {
    const facts = { ...PLAIN, kept: "model", hasNeeds: true } as const;
    expect(follow(ORDER, [{ is: "prepared" }], facts)).toEqual(["L2 prepare hooks", "prepared:", "L8 serve"]);
  });

  test("tells once what it waits for, however long that takes", () => {
    const lack = { text: "It needs b.", isSettled: true };
    const steps = ["L3 look for needs", "N3 tell", "5000 ms:", "N2 need longer"];
    expect(follow(ORDER, ["time"], { ...PLAIN, hasNeeds: true, lack })).toEqual(steps);
  });

  test("goes on without a place once another load waits for it, and keeps the time that it has without a limit", () => {
    const order = orderLoad({ version: 1n, timeoutMs: 0, retries: 0, maxPauseMs: 1 });
    expect(follow(order, [{ is: "hurried" }], PLAIN)).toEqual(["L5 queue", "hurried:", "G1 load without a place"]);
    expect(loadWakeOf(afterAction(order, { row: "G2", do: "load", hasPlace: true }, NOW))).toBe(
      Number.POSITIVE_INFINITY,
    );
  });
});

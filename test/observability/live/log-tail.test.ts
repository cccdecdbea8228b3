import { expect, onTestFinished, test, vi } from "vitest";
import { LogTail } from "../../../src/observability/live/log-tail.ts";
import { LogFilter } from "../../../src/observability/log-filter.ts";
import { createOutputLogger, createSilentLogger } from "../../../src/observability/logger.ts";

function followed(level: "info" | "debug" = "info") {
  const [tail, written, filter] = [new LogTail(), [] as string[], new LogFilter(level)];
  const log = tail.follow(createOutputLogger([{ write: (line) => void written.push(line) }], filter));
  return { tail, written, filter, log };
}

test("the end of a log has what the log has, with the fields of children", () => {
  const { tail, written, log } = followed();
  log.debug("too fine");
  log.child({ model: "m" }).warn("odd", { count: 2n, err: new Error("why", { cause: new Error("because") }) });
  expect(written).toHaveLength(1);
  expect(tail.after(0)).toEqual([
    {
      ...{ number: expect.any(Number), at: expect.any(Number), level: "warn", message: "odd" },
      fields: '{"model":"m","count":"2","err":{"message":"why","cause":{"message":"because"}}}',
    },
  ]);
});

test("secrets and control characters are left out, and so is what the log's level leaves out", () => {
  const { tail, filter, log } = followed();
  log.info("at https://user:hunter2@host/\u001b[31m", { authorization: "Bearer abc.def" });
  const [line] = tail.after(0);
  expect(JSON.stringify(line)).not.toMatch(/hunter2|abc\.def/);
  expect(line?.message.includes("\u001b")).toBe(false);
  filter.set("info", false);
  log.info("silenced");
  tail.follow(createSilentLogger()).error("silent");
  expect(tail.after(0)).toHaveLength(1);
});

test("a log that is followed already has its first lines in the same tail, each line once", () => {
  const { tail, written, log } = followed();
  log.info("before the server");
  const sameWithMore = Object.assign(Object.create(log), { other: true });
  for (const one of [log, sameWithMore]) {
    expect(LogTail.of(one)).toBe(tail);
    LogTail.of(one).follow(one).info("of the server");
  }
  expect(tail.after(0).map(({ message }) => message)).toEqual(["before the server", "of the server", "of the server"]);
  expect(written).toHaveLength(3);
  tail.end();
  log.info("for nobody");
  expect([tail.after(0), written.length]).toEqual([[], 4]);
});

test("the last 500 lines are kept, and those after a number are told", () => {
  const { tail, log } = followed();
  for (let count = 1; count <= 600; count++) log.info(`line ${count}`);
  expect(tail.after(0)).toHaveLength(500);
  const known = tail.after(0).at(-3)!.number;
  expect(tail.after(known).map(({ message }) => message)).toEqual(["line 599", "line 600"]);
});

test("the lines of a server that was started again come after those of the one before", () => {
  vi.useFakeTimers({ now: 1_800_000_000_000 });
  onTestFinished(() => void vi.useRealTimers());
  const before = followed();
  vi.advanceTimersByTime(1000);
  const again = followed();
  for (let count = 0; count < 500; count++) before.log.info("before");
  again.log.info("again");
  expect(again.tail.after(before.tail.after(0).at(-1)!.number)).toHaveLength(1);
});

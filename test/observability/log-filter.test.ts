import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { LOG_LEVELS, LogFilter } from "../../src/observability/log-filter.ts";
import { createLogger } from "../../src/observability/logger.ts";
import { tempFolder } from "../helpers/temp-folder.ts";

test.each(LOG_LEVELS)("a filter of %s writes it and what is more important, and never writes silence", (least) => {
  const filter = new LogFilter(least);
  const written = LOG_LEVELS.filter((level) => filter.writes(level));
  expect(written).toEqual(LOG_LEVELS.slice(LOG_LEVELS.indexOf(least), -1));
  expect(filter.level).toBe(least);
});

test("each level is switched for itself", () => {
  const filter = new LogFilter("info");
  filter.set("warn", false);
  expect([filter.writes("info"), filter.writes("warn"), filter.level]).toEqual([true, false, "info"]);
  filter.set("info", false);
  expect(filter.level).toBe("error");
  filter.set("error", false);
  expect(filter.level).toBe("silent");
});

test("a logger and its children follow their filter at once", () => {
  const path = join(tempFolder(), "log");
  const log = createLogger({ path, level: "warn" });
  const child = log.child({ part: "child" });
  log.info("lost");
  log.filter?.set("info", true);
  log.info("first");
  child.info("second");
  log.filter?.set("warn", false);
  child.warn("lost");
  const lines = readFileSync(path, "utf8").trim().split("\n");
  expect(lines.map((line) => JSON.parse(line))).toMatchObject([{ msg: "first" }, { msg: "second", part: "child" }]);
  expect(child.level).toBe("info");
});

import { expect, test } from "vitest";
import { ServingError } from "../../src/errors.ts";
import { logState } from "../../src/serving/servable-states.ts";
import type { VersionState } from "../../src/serving/version-status.ts";
import { createEventLog } from "../helpers/event-log.ts";

test("an error is one line of the log for as long as it stays", () => {
  const { log, events } = createEventLog();
  const tell = logState(log);
  const change = (state: VersionState, text?: string) => {
    const error = text === undefined ? undefined : new ServingError("not_found", text);
    tell({ model: "m", version: 1n, state, error, generation: 0, labels: [] });
  };
  change("LOADING", "no file");
  change("LOADING", "no file");
  change("LOADING", "no driver");
  change("END", "no driver");
  change("LOADING", "no driver");
  change("AVAILABLE");
  expect(events.map(({ level, msg, state }) => [level, msg, state])).toEqual([
    ["error", "model state: no file", "LOADING"],
    ["info", "model state", "LOADING"],
    ["error", "model state: no driver", "LOADING"],
    ["info", "model state", "END"],
    ["error", "model state: no driver", "LOADING"],
    ["info", "model state", "AVAILABLE"],
  ]);
});

import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { reloadOnDemand } from "../../../src/cli/lifecycle/reload-on-demand.ts";
import { createEventLog } from "../../helpers/event-log.ts";
import { tempFolder } from "../../helpers/temp-folder.ts";

test("hooks whose folder has gone are not watched, which the log says, and are again once it is back", async () => {
  const folder = tempFolder({ "hooks.ts": "export {};" });
  const { log, events, find } = createEventLog();
  let changed = () => {};
  const server = {
    hookSources: () => [join(folder, "hooks.ts")],
    reloadHooks: async () => {},
    onState: (listener: () => void) => {
      changed = listener;
      return () => {};
    },
  };
  onTestFinished(reloadOnDemand(server as never, { watch: true, log }));
  expect(events).toEqual([]);
  rmSync(folder, { recursive: true });
  changed();
  expect(events).toMatchObject([{ level: "warn", msg: expect.stringMatching(/is not watched: ENOENT.*send SIGHUP$/) }]);
  mkdirSync(folder);
  changed();
  writeFileSync(join(folder, "hooks.ts"), "export {};");
  await find({ msg: "hooks reloaded" });
  expect(events).toHaveLength(2);
});

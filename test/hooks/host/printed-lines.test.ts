import { expect, test } from "vitest";
import { createEventLog } from "../../helpers/event-log.ts";
import { ask, startHookThreads } from "../../helpers/start-hook-threads.ts";

test("what hooks print is logged, however much it is, and is no failure", async () => {
  const { log, events, find } = createEventLog();
  const source = `
    let asked = 0;
    export function preprocess(inputs: any) {
      asked++;
      for (let line = 0; line < 200; line++) console.log("x".repeat(200), asked, line);
      console.error("the last line", asked);
      return inputs;
    }`;
  const servable = await startHookThreads(source, { log });
  for (const x of [1, 2, 3]) {
    await ask(servable, { x });
    await find({ msg: `the last line ${x}` });
  }
  const printed = (x: number) => events.filter(({ msg }) => new RegExp(`^x+ ${x} `).test(String(msg))).length;
  await expect.poll(() => [1, 2, 3].map(printed)).toEqual([200, 200, 200]);
  expect(events.filter(({ level, from }) => level === "error" && from === undefined)).toEqual([]);
});

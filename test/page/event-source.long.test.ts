import { describe, expect, test } from "vitest";
import { startServer } from "../helpers/start-server.ts";
import { tempFolder } from "../helpers/temp-folder.ts";
import { lacksChromium, openPage } from "./browser.ts";

/** Counts to six, three events on each connection, from the last one that the client has on. */
const HOOKS = `
async function* steps(last) {
  yield { comment: "no client shows this", retry: 10 };
  for (let step = last + 1; step <= last + 3; step++)
    yield { id: String(step), event: "step", data: { step, text: "ü\\n" } };
  yield { data: "two\\nlines" };
}
const get = (path, answer) => ({ path, methods: ["GET"], answer });
export const rawRequest = [
  get("/steps", ({ headers, accept }) => {
    const last = Number(headers["last-event-id"] ?? 0);
    return last === 6 || accept !== "text/event-stream" ? { status: 204 } : { body: steps(last) };
  }),
  get("/fails", async function* () { throw new Error("nothing to give"); }),
  get("/breaks", async function* () { yield { data: 1 }; throw new Error("no second part"); }),
];`;

/** Types, ids and data of what an EventSource tells until it gives up, or once for a route that breaks. */
const PROGRAM = `(path) => new Promise((resolve) => {
  const told = [];
  const source = new EventSource(path);
  const tell = ({ type, lastEventId, data }) => told.push([type, lastEventId, data]);
  source.onopen = ({ type }) => told.push([type]);
  for (const type of ["step", "message"]) source.addEventListener(type, tell);
  source.onerror = ({ type }) => {
    told.push([type, source.readyState]);
    if (source.readyState === EventSource.CLOSED || path === "/breaks") resolve(told);
    if (path === "/breaks") source.close();
  };
})`;

describe.skipIf(lacksChromium())("a browser's EventSource", () => {
  test("has the events of a hook's route, goes on from its last one, and knows failures", async () => {
    const hooks = `${tempFolder({ "hooks.mjs": HOOKS })}/hooks.mjs`;
    const { httpUrl } = await startServer({ stages: [{ driver: "null" }], hooks });
    const page = await openPage(`${httpUrl}/ui`);
    const read = (path: string) => page.evaluate(`(${PROGRAM})(${JSON.stringify(path)})`);
    const connection = (last: number) => [
      ["open"],
      ...[1, 2, 3].map((more) => ["step", `${last + more}`, JSON.stringify({ step: last + more, text: "ü\n" })]),
      ["message", `${last + 3}`, "two\nlines"],
      ["error", 0],
    ];
    expect(await read("/steps")).toEqual([...connection(0), ...connection(3), ["error", 2]]);
    expect(await read("/fails")).toEqual([["error", 2]]);
    const error = JSON.stringify({ error: "The hook rawRequest[2] failed: no second part" });
    expect(await read("/breaks")).toEqual([["open"], ["message", "", "1"], ["message", "", error], ["error", 0]]);
  });
});

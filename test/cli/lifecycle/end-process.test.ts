import { expect, test } from "vitest";
import { startKserving } from "../start-kserving.ts";

const IDLE = ["--driver", "null", "--port", "0"];
const LINE = "an unexpected error ends the program; please report it with this line";

test.each([
  ["thrown", "throw new Error('boom')"],
  ["a rejected promise", "Promise.reject(new Error('boom'))"],
])("an error that nothing has caught, %s, ends the program with a diagnostic", async (_, code) => {
  const script = `process.on("SIGWINCH", () => { ${code}; });`;
  const preload = `data:text/javascript,${encodeURIComponent(script)}`;
  const program = startKserving(IDLE, { NODE_OPTIONS: `--import=${preload}`, KSERVING_SUPERVISOR: "false" });
  await program.event("ready");
  program.kill("SIGWINCH");
  const stack = expect.stringContaining("Error: boom");
  expect(await program.event(LINE)).toMatchObject({ level: "error", err: { message: "boom", stack } });
  expect(await program.ended()).toMatchObject({ code: null, signal: "SIGABRT" });
});

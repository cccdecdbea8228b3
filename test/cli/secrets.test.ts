import { randomBytes } from "node:crypto";
import { join } from "node:path";
import { expect, test } from "vitest";
import { SECRET_VARIABLES } from "../../src/cli/supervisor/secrets.ts";
import { findPython } from "../helpers/find-python.ts";
import { startKserving, writeTestFile } from "./start-kserving.ts";

const spy = (name: string) => join(process.cwd(), "test/cli/spies", name);
const python = findPython("what hooks in Python see", ["numpy"]);

/** A value that is a secret, with a name by which a spy reports it. */
function secret(name: string): string {
  return `canary-${randomBytes(8).toString("hex")}${name}`;
}

const CONFIG = `models:
  - { name: hook, driver: "null", hooks: ${spy("hooks.ts")} }
  - { name: isolated, driver: ${spy("driver.ts")}, isolate: true }
${python === undefined ? "" : `  - { name: python, driver: "null", hooks: ${spy("hooks.py")}, options: { python: ${python} } }\n`}`;

/** All that is secret in the surroundings of a server. */
function surroundings(): NodeJS.ProcessEnv {
  const named = SECRET_VARIABLES.map((name) => [name, secret(name)]);
  return {
    ...Object.fromEntries(named),
    KSERVING_OPTION: `api_key=${secret("option")}`,
    OTEL_EXPORTER_OTLP_ENDPOINT: `http://user:${secret("url")}@127.0.0.1:9`,
    OTEL_SDK_DISABLED: "true",
    OWN: secret("own"),
  };
}

async function startSpied(flags: readonly string[], env = surroundings()) {
  const password = await writeTestFile("password", "pass");
  const program = startKserving(
    [
      ...["--config", await writeTestFile("models.yaml", CONFIG), "--host=127.0.0.1", "--port=0", "--http-port=0"],
      ...["-o", `session_token=${secret("flag")}`, "--auth-username=alice", `--auth-password-file=${password}`],
      ...[`--model=far=http://user:${secret("word")}@127.0.0.1:1/m.onnx`, "--load-retries=0", ...flags],
    ],
    env,
  );
  const { http } = (await program.event("ready")) as unknown as { readonly http: string };
  const ask = async (model: string): Promise<readonly string[]> => {
    const body = { inputs: [{ name: "x", datatype: "FP32", shape: [1], data: [program.pid] }] };
    const headers = { authorization: `Basic ${btoa("alice:pass")}`, cookie: "a=b" };
    const response = await fetch(`${http}/v2/models/${model}/infer`, {
      method: "POST",
      headers,
      body: JSON.stringify(body),
    });
    const answer = (await response.json()) as { outputs: { data: string[] }[] };
    expect(answer).toHaveProperty("outputs");
    return JSON.parse(answer.outputs[0]!.data[0]!);
  };
  return { program, ask };
}

/** Without what the owner of the program has set for hooks. */
const others = (places: readonly string[]) => places.filter((place) => !place.endsWith(": own"));

test.each([
  ["under a supervisor", []],
  ["with threads that listen", ["--listeners=2"]],
])("%s neither hooks nor models' processes find a secret of the server", async (_, flags) => {
  const { program, ask } = await startSpied(flags);
  const ofHook = await ask("hook");
  expect(ofHook).toContain("process.env: own");
  expect(others(ofHook)).toEqual([]);
  expect(await ask("isolated")).toEqual([]);
  if (python !== undefined) expect(others(await ask("python"))).toEqual([]);
  const notice = await program.event("hooks and child processes do not get .*");
  for (const name of SECRET_VARIABLES) expect(notice.msg).toContain(name);
  program.kill("SIGTERM");
  const { stdout, stderr } = await program.ended();
  expect(`${stdout}${stderr}`).not.toMatch(/canary-/);
});

test("a variable that --hook-env names is the hooks' too, and without --debuggable nothing else is", async () => {
  const { ask } = await startSpied(["--hook-env", "HF_TOKEN,AZ_CLIENT_SECRET"]);
  expect(await ask("hook")).toContain("process.env: HF_TOKEN");
  expect(await ask("hook")).not.toContain("process.env: AWS_SECRET_ACCESS_KEY");
  expect(await ask("isolated")).toEqual([]);
});

test("without a supervisor secrets are found by hooks in neither place, nor by models' processes", async () => {
  const { ask } = await startSpied(["--no-supervisor"]);
  // Node keeps the words of its command line for its reports, and root's rights stay with a process that has them.
  const places = (await ask("hook")).filter((place) => !/^report|^other (?:mem|fd)$/.test(place));
  expect(others(places)).toEqual([]);
  expect(await ask("isolated")).toEqual([]);
});

test.runIf(process.platform === "linux")(
  "--debuggable lets other processes look, at copies without secrets",
  async () => {
    const { ask } = await startSpied(["--debuggable"]);
    expect(others(await ask("isolated"))).toEqual(["other fd", "other mem"]);
  },
);

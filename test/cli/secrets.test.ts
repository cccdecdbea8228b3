import { randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";
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

/** Variables with addresses that the server reads. */
const ADDRESSES = [
  ...["OTEL_EXPORTER_OTLP_ENDPOINT", "AWS_ENDPOINT_URL_S3", "AWS_CONTAINER_CREDENTIALS_FULL_URI", "HF_ENDPOINT"],
  ...["AWS_EC2_METADATA_SERVICE_ENDPOINT", "AZURE_AUTHORITY_HOST", "AZURE_POD_IDENTITY_AUTHORITY_HOST"],
  ...["CLOUDSDK_API_ENDPOINT_OVERRIDES_STORAGE", "STORAGE_EMULATOR_HOST", "GCE_METADATA_HOST"],
];

/** All that is secret in the surroundings of a server. */
function surroundings(): NodeJS.ProcessEnv {
  const named = SECRET_VARIABLES.map((name) => [name, secret(name)]);
  return {
    ...Object.fromEntries(named),
    KSERVING_OPTION: `api_key=${secret("option")}`,
    ...Object.fromEntries(ADDRESSES.map((name) => [name, `http://user:${secret("url")}@127.0.0.1:9`])),
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

const PLACES = ["hook", "python", "isolated"] as const;
type Place = (typeof PLACES)[number];

interface Promised {
  /** The sentence of the docs, up to its subject's end. */
  readonly says: string;
  /** Of what the spies find. */
  readonly finds: RegExp;
  /** The places in which it is found; no others. */
  readonly in?: readonly Place[];
}

/** Promises of docs/security.md and docs/isolation.md, with what spies find where one does not hold. */
const PROMISES: readonly Promised[] = [
  {
    says: "These variables are taken out of the environment before anything else runs",
    finds: new RegExp(`^(?:process\\.env|report): (?:${SECRET_VARIABLES.join("|")})`),
  },
  {
    says: "So are settings (`KSERVING_…`) and addresses that the server reads",
    finds: /^(?:process\.env|report): (?:option|url)/,
  },
  {
    says: "Such words of the command line are `***` for everybody who lists processes",
    finds: /(?:argv|cmdline|comm): /,
  },
  { says: "`/proc/PID/environ` of all of the program's processes lacks them", finds: / environ: (?!own$)/ },
  { says: "nor what these start, have them in their environment", finds: /^child: (?!own$)/ },
  { says: "refuse their memory and their open files to one another", finds: /^other (?:mem|fd)$/ },
  { says: "dropped for all that the supervisor starts", finds: /^rights$/ },
  {
    says: "stay in the environment of hooks and of Python, but not in that of",
    finds: /^process\.env: own$/,
    in: ["hook", "python"],
  },
  { says: "have the same environment as hooks", finds: /^child: own$/, in: ["hook", "python"] },
  { says: "Hooks do not see the header", finds: /authorization/ },
  { says: "It inherits no socket or file of the server but the one to the server", finds: /^listening/, in: ["hook"] },
];

/** Asks the spies in all places that there are here, one after another: what a spy starts is no process of ours. */
async function findings(ask: (model: string) => Promise<readonly string[]>) {
  const found = new Map<Place, readonly string[]>();
  for (const place of PLACES) if (place !== "python" || python !== undefined) found.set(place, await ask(place));
  return found;
}

/** Without what the owner of the program has set for hooks, and what the server's process has of its own. */
const others = (places: readonly string[]) =>
  places.filter((place) => !place.endsWith(": own") && place !== "listening socket");

test.each([
  ["under a supervisor", []],
  ["with threads that listen", ["--listeners=2"]],
])("%s neither hooks nor models' processes find a secret of the server", async (_, flags) => {
  const { program, ask } = await startSpied(flags);
  const found = await findings(ask);
  const docs = ["security.md", "isolation.md"].map((name) => readFileSync(`docs/${name}`, "utf8"));
  const text = docs.join("\n").replace(/\s+/g, " ");
  for (const { says, finds, in: expected = [] } of PROMISES) {
    expect(text).toContain(says);
    const where = [...found].flatMap(([place, all]) => (all.some((one) => finds.test(one)) ? [place] : []));
    expect({ says, where }).toEqual({ says, where: expected.filter((place) => found.has(place)) });
  }
  for (const [place, all] of found) expect({ place, all: others(all) }).toEqual({ place, all: [] });
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
  if (python !== undefined) {
    const ofPython = await ask("python");
    expect(ofPython).toContain("process.env: HF_TOKEN");
    expect(ofPython).not.toContain("process.env: AWS_SECRET_ACCESS_KEY");
  }
  expect(await ask("isolated")).toEqual([]);
});

test("models that are an assistant's tools find no more, whose server has no supervisor", async () => {
  const flags = ["--config", await writeTestFile("models.yaml", CONFIG), "-o", `session_token=${secret("flag")}`];
  const program = startKserving(["mcp", ...flags, "--hook-env", "HF_TOKEN"], surroundings());
  const request = (id: number, method: string, params: object) =>
    program.type(`${JSON.stringify({ jsonrpc: "2.0", id, method, params })}\n`);
  request(0, "initialize", { protocolVersion: "2025-03-26", capabilities: {} });
  // Hooks in Python declare no inputs, and are no tools.
  for (const [id, model] of [
    [1, "hook"],
    [2, "isolated"],
  ] as const) {
    request(id, "tools/call", { name: model, arguments: { x: [program.pid] } });
    const [, line = ""] = await program.output(new RegExp(`^(\\{.*"id":${id},.*\\})$`, "m"));
    const { result } = JSON.parse(line) as { readonly result: { readonly content: readonly { text: string }[] } };
    const all = JSON.parse(result.content[0]!.text) as readonly string[];
    const isHook = model === "hook";
    expect({ model, all: all.filter((one) => one.startsWith("process.env")) }).toEqual({
      ...{ model, all: isHook ? ["process.env: HF_TOKEN", "process.env: own"] : [] },
    });
    // Node keeps the words of its command line for its reports, and root's rights stay with a process that has them.
    const rest = others(all).filter((one) => !isHook || !/: HF_TOKEN$|^report|^rights$|^other (?:mem|fd)$/.test(one));
    expect({ model, rest }).toEqual({ model, rest: [] });
  }
  await program.output(/hooks and child processes do not get .*AWS_SECRET_ACCESS_KEY/, "stderr");
});

test("without a supervisor secrets are found by hooks in neither place, nor by models' processes", async () => {
  const { ask } = await startSpied(["--no-supervisor"]);
  // Node keeps the words of its command line for its reports, and root's rights stay with a process that has them.
  const places = (await ask("hook")).filter((place) => !/^report|^rights$|^other (?:mem|fd)$/.test(place));
  expect(others(places)).toEqual([]);
  expect(await ask("isolated")).toEqual([]);
});

test.runIf(process.platform === "linux")(
  "--debuggable lets other processes look, at copies without secrets",
  async () => {
    const { ask } = await startSpied(["--debuggable"]);
    // Root's rights stay with its processes too.
    const places = others(await ask("isolated")).filter((place) => place !== "rights");
    expect(places).toEqual(["other fd", "other mem"]);
  },
);

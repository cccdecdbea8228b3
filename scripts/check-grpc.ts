import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { cpSync, existsSync, mkdirSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { createGrpcServer } from "../src/grpc/grpc-server.ts";
import { createSilentLogger } from "../src/observability/logger.ts";
import { sliceSettings } from "../src/platform/limits/settings/server-settings.ts";
import { grpcHealth, grpcReflection } from "../src/protocols/grpc-standard/grpc-standard.ts";
import { kserve } from "../src/protocols/kserve/kserve.ts";
import { createTensor } from "../src/tensor/tensor.ts";
import { interop } from "../test/grpc/interop/interop-service.ts";
import { PartsService } from "../test/proxy/parts-service.ts";

/** Programs of other projects against our gRPC transport. They are built with Go, once, into .cache/go. */
const PROGRAMS = {
  client: "google.golang.org/grpc/interop/client@v1.85.0",
  "grpc-health-probe": "github.com/grpc-ecosystem/grpc-health-probe@v0.4.61",
  grpcurl: "github.com/fullstorydev/grpcurl/cmd/grpcurl@v1.9.4",
  h2spec: "github.com/summerwind/h2spec/cmd/h2spec@latest",
  "protoc-gen-go": "google.golang.org/protobuf/cmd/protoc-gen-go@v1.36.12",
  "protoc-gen-go-grpc": "google.golang.org/grpc/cmd/protoc-gen-go-grpc@v1.6.2",
};
const FOLDER = join(process.cwd(), ".cache", "go");

/** The cases that need neither credentials nor trailing metadata (doc/interop-test-descriptions.md of grpc/grpc). */
const INTEROP_CASES = [
  "empty_unary",
  "large_unary",
  "client_streaming",
  "server_streaming",
  "ping_pong",
  "empty_stream",
  "cancel_after_begin",
  "cancel_after_first_response",
  "timeout_on_sleeping_server",
  "status_code_and_message",
  "special_status_message",
  "unimplemented_method",
  "unimplemented_service",
];

const V2 = "inference.GRPCInferenceService";
const FLOATS =
  '{"model_name":"m","inputs":[{"name":"x","datatype":"FP32","shape":[1],"contents":{"fp32_contents":[2]}}]}';
const PARTS =
  '{"model_name":"m","id":"a","parameters":{"triton_enable_empty_final_response":{"bool_param":true}},"inputs":[{"name":"x","datatype":"FP32","shape":[2],"contents":{"fp32_contents":[2,3]}}]}';
/** Arguments of grpcurl, before and after the address, and what it has to print. */
const GRPCURL_CASES: readonly (readonly [string, readonly string[], readonly string[], RegExp])[] = [
  ["list", [], ["list"], /inference\.GRPCInferenceService/],
  ["describe", [], ["describe", `${V2}.ModelInfer`], /rpc ModelInfer/],
  ["call", ["-d", FLOATS], [`${V2}/ModelInfer`], /"rawOutputContents"/],
  ["call, compressed", ["-H", "grpc-encoding: gzip", "-d", "{}"], [`${V2}/ServerReady`], /"ready": true/],
  ["stream", ["-d", PARTS], [`${V2}/ModelStreamInfer`], /(?:"boolParam": false.*){2}"id": "a".*"boolParam": true/s],
  ["error", ["-d", '{"name":"m","version":"x"}'], [`${V2}/ModelReady`], /Code: InvalidArgument/],
];

for (const [name, module] of Object.entries(PROGRAMS)) {
  if (existsSync(join(FOLDER, name))) continue;
  mkdirSync(FOLDER, { recursive: true });
  execFileSync("go", ["install", module], { stdio: "inherit", env: { ...process.env, GOBIN: FOLDER } });
}
buildStreamClient();
const protocols = [interop, kserve, grpcHealth, grpcReflection];
const options = { host: "127.0.0.1", port: 0, protocols, settings: sliceSettings({}), log: createSilentLogger() };
/** A model that gives each number as a part, but fails at 13, and gives none after 0. */
const service = new PartsService(async function* ({ x }) {
  for (const value of (x?.data ?? []) as Float32Array) {
    if (value === 13) throw new Error("no thirteenth part");
    if (value === 0) await new Promise(() => {});
    yield { x: createTensor("float32", [1], Float32Array.of(value)) };
  }
});
const server = await createGrpcServer(service, options);
const { port } = server;
const address = `127.0.0.1:${port}`;

report("grpc-go's interoperability client", await Promise.all(INTEROP_CASES.map(askClient)));
report("grpc-health-probe", [await run("Check", ["grpc-health-probe", `-addr=${address}`], /status: SERVING/)]);
report("grpcurl", await Promise.all(GRPCURL_CASES.map(askGrpcurl)));
report("grpc-go's stubs of V2, streams", [
  await run("answers in parts", ["stream/stream", address], /^(\d+) of \1 passed/m),
]);
report("h2spec", await askH2spec());
await server.close(0);

/** A case of a program, and what is wrong; undefined = it passed. */
interface Verdict {
  readonly name: string;
  readonly fault?: string;
}

/** Builds test/grpc/interop/stream_client.go with the stubs that grpc-go's own generators make of proto/inference. */
function buildStreamClient(): void {
  const out = join(FOLDER, "stream");
  mkdirSync(out, { recursive: true });
  const opt = "module=stream";
  const plugins = ["protoc-gen-go", "protoc-gen-go-grpc"].map((name) => ({ local: join(FOLDER, name), out: ".", opt }));
  const override = [{ file_option: "go_package", value: "stream/inference" }];
  const template = JSON.stringify({ version: "v2", managed: { enabled: true, override }, plugins });
  const buf = createRequire(import.meta.url).resolve("@bufbuild/buf/bin/buf");
  const stdio = "inherit";
  execFileSync(
    process.execPath,
    [buf, "generate", "proto", "--path", "proto/inference", "--output", out, "--template", template],
    { stdio },
  );
  cpSync("test/grpc/interop/stream_client.go", join(out, "main.go"));
  const go = (...args: string[]) => execFileSync("go", args, { cwd: out, stdio });
  if (!existsSync(join(out, "go.mod"))) go("mod", "init", "stream");
  go("get", "google.golang.org/grpc@v1.85.0", "google.golang.org/protobuf@v1.36.12");
  go("mod", "tidy");
  go("build", "-o", "stream", ".");
}

function askClient(name: string): Promise<Verdict> {
  return run(name, ["client", "--server_host=127.0.0.1", `--server_port=${port}`, `--test_case=${name}`], /^/);
}

function askGrpcurl([name, before, after, expected]: (typeof GRPCURL_CASES)[number]): Promise<Verdict> {
  return run(name, ["grpcurl", "-plaintext", ...before, address, ...after], expected);
}

/** Runs a program to its end; it passes if it prints what is expected. */
async function run(name: string, command: readonly string[], expected: RegExp): Promise<Verdict> {
  const { code, text } = await outputOf(command);
  const hasPassed = expected.source === "^" ? code === 0 : expected.test(text);
  return hasPassed ? { name } : { name, fault: text };
}

async function outputOf([program, ...args]: readonly string[]): Promise<{ code: number | null; text: string }> {
  const child = spawn(join(FOLDER, program as string), args, { stdio: ["ignore", "pipe", "pipe"], timeout: 120_000 });
  let text = "";
  for (const output of [child.stdout, child.stderr]) output.on("data", (piece) => (text += piece));
  const [code] = await once(child, "close");
  return { code, text };
}

/** Each case that h2spec prints: `× 2: Sends …` under `5.1. …`. */
async function askH2spec(): Promise<Verdict[]> {
  const { text } = await outputOf(["h2spec", "-h", "127.0.0.1", "-p", String(port), "-o", "1"]);
  const [all = "", failures = ""] = text.split(/^Failures:/m);
  const passed = [...all.matchAll(/✔ \d+: (.+)/g)].map(([, name]) => ({ name: name as string }));
  return [...passed, ...failedCases(failures)];
}

function failedCases(text: string): Verdict[] {
  const cases: Verdict[] = [];
  let section = "";
  for (const block of text.split(/^(?=\s+(?:\d+(?:\.\d+)*\. |× ))/m)) {
    section = /^\s+(\d+(?:\.\d+)*)\. /.exec(block)?.[1] ?? section;
    const [, number, title] = /× (\d+): (.*)/.exec(block) ?? [];
    if (number === undefined) continue;
    cases.push({ name: `${section}/${number} ${title}`, fault: block });
  }
  return cases;
}

function report(title: string, verdicts: readonly Verdict[]): void {
  const failed = verdicts.filter(({ fault }) => fault !== undefined);
  for (const { name, fault } of failed) console.log(`FAILED  ${name}\n${fault}`);
  console.log(`${title}: ${verdicts.length - failed.length} of ${verdicts.length} passed`);
  if (failed.length > 0 || verdicts.length === 0) process.exitCode = 1;
}

/**
 * Checks the packages beside kserving as their users get them: packed, linted, installed alone in an empty folder, and
 * called from there. Prints what an installation of each weighs.
 */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { createServer } from "../src/index.ts";
import { runCommand } from "../test/helpers/run-command.ts";
import { startCommand } from "../test/helpers/start-command.ts";
import { checkWeight } from "./package-weight.ts";

const root = fileURLToPath(new URL("..", import.meta.url));
const place = mkdtempSync(join(tmpdir(), "kserving-packages-"));
const { version } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));

const CLIENT = `
import { connect } from "kserving-client";
const [http, grpc] = process.argv.slice(2);
const models = connect(http);
const { y } = await models.half.predict({ x: [1, 2.5] });
const wrong = await models.half.predict({ z: [1] }).catch(({ code }) => code);
const lacking = await connect(grpc).half.predict({ x: [1] }).catch(({ code, message }) => [code, message.includes("npm install @grpc/grpc-js")]);
console.log(JSON.stringify([[...y.data], wrong, lacking]));
`;
const GRPC = `
import { connect } from "kserving-client";
const models = connect(process.argv[2]);
const { y } = await models.half.predict({ x: [3] });
console.log(JSON.stringify([...y.data]));
models.$close();
`;
const TENSORFLOW = `
import { loadModel, toNested } from "kserving-tensorflow";
const model = await loadModel(process.argv[2]);
const { y } = await model.predict({ x: [1, 2.5] });
const wrong = await model.predict({ z: [1] }).catch(({ code }) => code);
const nowhere = await loadModel("nowhere").catch(({ code }) => code);
await model.close();
console.log(JSON.stringify([toNested(y, Number), wrong, nowhere]));
`;

/** Packs a folder's package; returns its archive and that one's size. */
function pack(folder: string): { readonly tarball: string; readonly size: number } {
  const flags = ["--json", "--ignore-scripts", "--pack-destination", place];
  const [{ filename, size }] = JSON.parse(runCommand("npm", ["pack", ...flags], { cwd: folder }));
  return { tarball: join(place, filename), size };
}

/** Packs a package, checks the tarball, and installs it alone; returns its new folder. */
function installAlone(name: string): string {
  const source = join(root, "packages", name);
  const manifest = JSON.parse(readFileSync(join(source, "package.json"), "utf8"));
  assert.equal(manifest.version, version, `packages/${name} has not the version of kserving`);
  const { tarball, size } = pack(source);
  const bin = (tool: string) => join(root, "node_modules/.bin", tool);
  console.log(runCommand(bin("publint"), [tarball, "--strict"], { cwd: root }).trim());
  // A program has no types.
  if ("." in manifest.exports) runCommand(bin("attw"), [tarball, "--profile", "esm-only"], { cwd: root });
  const folder = join(place, name);
  mkdirSync(folder);
  writeFileSync(join(folder, "package.json"), '{ "type": "module", "private": true }\n');
  runCommand("npm", ["install", "--omit=optional", "--omit=peer", "--no-audit", "--no-fund", tarball], { cwd: folder });
  checkWeight(manifest.name, folder, size);
  return folder;
}

/** Runs a program in a folder, beside a server of this process; resolves with the JSON that it prints. */
async function answerOf(folder: string, program: string, args: readonly string[]): Promise<unknown> {
  writeFileSync(join(folder, "program.mjs"), program);
  const { stdout } = await promisify(execFile)(process.execPath, ["program.mjs", ...args], { cwd: folder });
  return JSON.parse(stdout);
}

const TYPED = `
import { connect } from "kserving-client";
import type { Models } from "./models.d.ts";
const { y } = await connect<Models>("http://localhost:9001").half.predict({ x: [1] });
export const first: number | undefined = y.data[0];
// @ts-expect-error an input that the model lacks
await connect<Models>("http://localhost:9001").half.predict({ z: [1] });
`;

/** Compiles a program beside the types of a server's models, with the client's package alone. */
async function checkTypes(folder: string, address: string): Promise<void> {
  const node = (...args: string[]) => promisify(execFile)(process.execPath, args, { cwd: folder });
  await node(join(root, "bin/kserving.cjs"), "client", address, "--out", "models.d.ts");
  const compilerOptions = {
    ...{ strict: true, noEmit: true, module: "nodenext", target: "es2023", allowImportingTsExtensions: true },
    ...{ types: [], lib: ["es2023", "dom"] },
  };
  writeFileSync(join(folder, "program.ts"), TYPED);
  writeFileSync(join(folder, "tsconfig.json"), JSON.stringify({ compilerOptions, files: ["program.ts"] }));
  await node(join(root, "node_modules/typescript/bin/tsc"));
}

/** Makes folders by the package create-kserving, with the packed server in them, and asks what they serve. */
async function checkCreate(): Promise<void> {
  const folder = installAlone("create");
  const create = (...words: string[]) =>
    runCommand("npm", ["exec", "--", "create-kserving", ...words], { cwd: folder });
  const { tarball } = pack(root);
  const kinds = { hooks: "scale:predict", project: "scale:predict", driver: "default:predict" };
  for (const [kind, path] of Object.entries(kinds)) {
    assert.match(create(kind, kind), /^ {2}npm install$/m);
    const made = join(folder, kind);
    const { scripts, dependencies } = JSON.parse(readFileSync(join(made, "package.json"), "utf8"));
    assert.deepEqual(dependencies, { kserving: `^${version}` });
    if (kind === "hooks") runCommand("npm", ["install", "--no-audit", "--no-fund", tarball], { cwd: made });
    else symlinkSync("../hooks/node_modules", join(made, "node_modules"));
    for (const script of ["test", "typecheck"]) runCommand("npm", ["run", script], { cwd: made });
    assert.deepEqual(await answerOfStart(scripts.start, made, path), KIND_ANSWERS[kind]);
    console.log(`create-kserving: the tests, the types and the server of its ${kind} work`);
  }
}

/** Answers to the numbers 1 and 2.5, by the kind of the folder. */
const KIND_ANSWERS: Readonly<Record<string, unknown>> = {
  hooks: { outputs: [2, 5] },
  project: { outputs: [3, 7.5] },
  driver: { outputs: [3, 6] },
};

/** Starts a server as the folder's `npm start` does, on free ports, and asks it. */
async function answerOfStart(start: string, cwd: string, path: string): Promise<unknown> {
  const [program = "", ...words] = start.split(" ");
  const command = [join(cwd, "node_modules/.bin", program), ...words, "--port", "0", "--http-port", "0"];
  const server = await startCommand(command, { cwd });
  try {
    const body = JSON.stringify({ inputs: { x: [1, 2.5] } });
    return await (await fetch(`${server.http}/v1/models/${path}`, { method: "POST", body })).json();
  } finally {
    await server.stop();
  }
}

const half = join(root, "test/fixtures/models/half-plus-two.onnx");
const server = await createServer({ models: { half: { path: half } }, http: {} });
try {
  const client = installAlone("client");
  const grpc = `grpc://${server.grpcAddress}`;
  assert.deepEqual(await answerOf(client, CLIENT, [`${server.httpUrl}`, grpc]), [
    [2.5, 3.25],
    "invalid_argument",
    ["failed_precondition", true],
  ]);
  await checkTypes(client, `${server.httpUrl}`);
  runCommand("npm", ["install", "--no-audit", "--no-fund", "@grpc/grpc-js"], { cwd: client });
  assert.deepEqual(await answerOf(client, GRPC, [grpc]), [3.5]);
  console.log(
    "kserving-client: HTTP and the types of models without any other package, gRPC once its library is there",
  );

  const tensorflow = installAlone("tensorflow");
  const answer = await answerOf(tensorflow, TENSORFLOW, [join(root, "test/fixtures/tensorflow/half_plus_two")]);
  assert.deepEqual(answer, [[2.5, 3.25], "invalid_argument", "failed_precondition"]);
  console.log("kserving-tensorflow: a SavedModel runs");

  await checkCreate();
} finally {
  await server.close();
  rmSync(place, { recursive: true, force: true });
}

import { mkdirSync, symlinkSync } from "node:fs";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { Argument, type Command } from "commander";
import { isAddress } from "../../client/model-address.ts";
import { failedPrecondition, invalidArgument } from "../../errors.ts";
import { withProgress } from "../live-line.ts";
import { type ClientSource, clientFiles } from "../scaffold/client-files.ts";
import { type FolderKind, KINDS, nextCommands, scaffoldFiles, writeFolder } from "../scaffold/new-folder.ts";
import { STREAM_FILES } from "../scaffold/scaffold.ts";
import { createParser, runParser } from "./create-parser.ts";
import { assertEmptyFolder } from "./out-files.ts";
import { authorizationAt, refuseBareAddress } from "./server-addresses.ts";

/** The address of `kserving serve` by default. */
const ADDRESS = "http://localhost:9001";

const EPILOGUE = `
Examples:
  kserving new hooks faces && cd faces && npm test
  kserving new hooks letters --stream
  kserving new driver my-driver
  kserving new project serving
  kserving new client && cd client && npm start

The folder has a README, an AGENTS.md for coding assistants, types, and a test that passes; that of a client has a
program that calls a running server. It finds this kserving in its node_modules.
`;

/** `kserving new`: writes a folder to begin with. */
export async function create(argv: readonly string[]): Promise<void> {
  await runParser(createNewCommand(), argv);
}

/** The parser of `kserving new`. */
export function createNewCommand(): Command {
  return createParser("new", {
    description: "Writes a folder with hooks, a driver or a project, and its test, or with a client.",
    epilogue: EPILOGUE,
  })
    .addArgument(new Argument("<kind>", "what to begin with").choices(SCAFFOLD_KINDS))
    .argument("[folder]", "a folder that is empty or not there (default: the kind's name)")
    .option("--server <address>", `for a client: http://HOST:PORT or grpc://HOST:PORT (default: ${ADDRESS})`)
    .option("--remote-auth-file <file>", "for a client: credentials at the server, as for kserving replay")
    .option("--stream", "for hooks: hooks that answer in parts")
    .option("--json", "print JSON")
    .action(run);
}

interface NewFlags {
  readonly server?: string;
  readonly remoteAuthFile?: string;
  readonly stream?: boolean;
  readonly json?: boolean;
}

async function run(kind: ScaffoldKind, given: string | undefined, { json = false, ...flags }: NewFlags): Promise<void> {
  const name = given ?? kind;
  const folder = resolve(name);
  assertEmptyFolder(folder, name);
  const { stream = false, ...ofClient } = flags;
  if (kind !== "client" && Object.keys(ofClient).length > 0)
    throw invalidArgument(`--server and --remote-auth-file are for kserving new client, not for new ${kind}.`);
  if (kind !== "hooks" && stream) throw invalidArgument(`--stream is for kserving new hooks, not for new ${kind}.`);
  const ofKind = () => (stream ? STREAM_FILES : KINDS[kind as FolderKind]);
  const scaffold = kind === "client" ? clientFiles(await describeServer(ofClient)) : ofKind();
  const files = scaffoldFiles(scaffold, { folder, linked: PACKAGE_ROOT });
  writeFolder(name, files, () => linkProgram(folder));
  if (json) return console.log(JSON.stringify({ folder, files: Object.keys(files) }, null, 2));
  console.log(nextCommands(name, files));
}

/** The folder of this program. */
const PACKAGE_ROOT = fileURLToPath(new URL("../../../", import.meta.url)).replace(/[\\/]$/, "");

function linkProgram(folder: string): void {
  const bin = join(folder, "node_modules", ".bin");
  mkdirSync(bin, { recursive: true });
  symlinkSync(PACKAGE_ROOT, join(folder, "node_modules", "kserving"), "junction");
  // As npm would: its scripts find the program there. Windows lets few users make such links.
  if (process.platform !== "win32") symlinkSync("../kserving/bin/kserving.cjs", join(bin, "kserving"), "file");
}

/** The models that a server has now. */
async function describeServer({ server: address = ADDRESS, remoteAuthFile }: NewFlags): Promise<ClientSource> {
  refuseBareAddress(address, "server");
  if (!isAddress(address))
    throw invalidArgument(`--server is "${address}"; expected http://HOST:PORT or grpc://HOST:PORT.`);
  const { describeServed } = await import("../client-types/describe-models.ts");
  const authorization = await authorizationAt(address, remoteAuthFile);
  const models = await withProgress(`asking ${address}`, () => describeServed({ address, authorization, names: [] }));
  if (models.size === 0) throw failedPrecondition(`${address} has no model that is ready; wait for one.`);
  return { address, models };
}

/** Kinds of folders that `kserving new` makes. */
const SCAFFOLD_KINDS = [...Object.keys(KINDS), "client"];
type ScaffoldKind = FolderKind | "client";

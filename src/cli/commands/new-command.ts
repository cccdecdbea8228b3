import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { basename, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { Argument, type Command } from "commander";
import { isAddress } from "../../client/model-address.ts";
import { failedPrecondition, invalidArgument } from "../../errors.ts";
import { outputProblem } from "../../platform/text/file-problem.ts";
import { shellWord } from "../../platform/text/terminal.ts";
import { withProgress } from "../live-line.ts";
import { type ClientSource, clientFiles } from "../scaffold/client-files.ts";
import {
  agentsText,
  DRIVER_FILES,
  HOOK_FILES,
  PROJECT_FILES,
  type Scaffold,
  type ScaffoldFiles,
  STREAM_FILES,
} from "../scaffold/scaffold.ts";
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
  const source = kind === "client" ? await describeServer(ofClient) : undefined;
  const packageRoot = fileURLToPath(new URL("../../../", import.meta.url)).replace(/[\\/]$/, "");
  const files = scaffoldFiles({ source, kind: stream ? "stream" : kind, folder, packageRoot });
  try {
    const bin = join(folder, "node_modules", ".bin");
    mkdirSync(bin, { recursive: true });
    for (const [file, text] of Object.entries(files)) writeFileSync(join(folder, file), text);
    symlinkSync(packageRoot, join(folder, "node_modules", "kserving"), "junction");
    // As npm would: its scripts find the program there. Windows lets few users make such links.
    if (process.platform !== "win32") symlinkSync("../kserving/bin/kserving.cjs", join(bin, "kserving"), "file");
  } catch (cause) {
    throw invalidArgument(`The folder "${name}" ${outputProblem(cause)}; expected one that can be written.`, cause);
  }
  if (json) return console.log(JSON.stringify({ folder, files: Object.keys(files) }, null, 2));
  const commands = [`cd ${shellWord(name)}`, ...(kind === "client" ? [] : ["npm test"]), "npm start"];
  console.log(
    [`${name} has ${Object.keys(files).join(", ")}.`, "", ...commands.map((command) => `  ${command}`)].join("\n"),
  );
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
const SCAFFOLD_KINDS = ["hooks", "driver", "project", "client"] as const;
/** One of {@link SCAFFOLD_KINDS}. */
type ScaffoldKind = (typeof SCAFFOLD_KINDS)[number];

const SCAFFOLDS: Readonly<Record<Exclude<ScaffoldKind, "client"> | "stream", Scaffold>> = {
  hooks: HOOK_FILES,
  stream: STREAM_FILES,
  driver: DRIVER_FILES,
  project: PROJECT_FILES,
};

/** Versions of the packages that an editor and the compiler need. */
const TYPES = { "@types/node": "^20.19.0", typescript: ">=5.7" };

/** A folder to write. */
interface NewFolder {
  /** The models that a client's folder calls; absent = another kind. */
  readonly source?: ClientSource | undefined;
  /** `stream` = hooks that answer in parts. */
  readonly kind: ScaffoldKind | "stream";
  readonly folder: string;
  /** The folder of this program. */
  readonly packageRoot: string;
}

/** All files of a new folder. */
function scaffoldFiles({ source, kind, folder, packageRoot }: NewFolder): ScaffoldFiles {
  const scaffold = kind === "client" ? clientFiles(source as ClientSource) : SCAFFOLDS[kind];
  const { start, files } = scaffold;
  const test = kind === "client" ? {} : { test: "node --test" };
  const manifest = {
    name:
      basename(folder)
        .toLowerCase()
        .replace(/[^a-z0-9._-]/g, "-")
        .replace(/^[._]+/, "") || "serving",
    private: true,
    type: "module",
    scripts: { start, ...test, typecheck: "tsc" },
    dependencies: { kserving: `file:${packageRoot}` },
    devDependencies: TYPES,
  };
  return {
    "package.json": `${JSON.stringify(manifest, null, 2)}\n`,
    "tsconfig.json": `${JSON.stringify(compilerChoices(files), null, 2)}\n`,
    ".gitignore": "node_modules/\n",
    "AGENTS.md": agentsText(scaffold),
    ...files,
  };
}

/** A program in JavaScript has types too. */
function compilerChoices(files: ScaffoldFiles): object {
  const programs = Object.keys(files).filter((file) => file.endsWith(".mjs") && !file.endsWith(".test.mjs"));
  const compilerOptions = { ...COMPILER, ...(programs.length > 0 && { allowJs: true }) };
  return { compilerOptions, include: ["*.ts", ...programs] };
}

const COMPILER = {
  ...{ strict: true, noEmit: true, skipLibCheck: true, noUncheckedIndexedAccess: true },
  ...{ target: "es2023", module: "nodenext", types: ["node"], allowImportingTsExtensions: true },
};

import { readFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { type Command, Option } from "commander";
import { isAddress } from "../../client/model-address.ts";
import { failedPrecondition, invalidArgument } from "../../errors.ts";
import { isDetected } from "../../serving/repository/folders/find-model.ts";
import { shownAddress } from "../../storage/remote-address.ts";
import { describeFile, describeServed } from "../client-types/describe-models.ts";
import type { DescribedModel } from "../client-types/typed-tensor.ts";
import { writeGoClient } from "../client-types/write-go-client.ts";
import { type ClientModule, writeModelTypes } from "../client-types/write-model-types.ts";
import { writePythonClient } from "../client-types/write-python-client.ts";
import { withProgress } from "../live-line.ts";
import { addModelFlags, collect, createParser, type ModelFlags, runParser } from "./create-parser.ts";
import { writeOut } from "./out-files.ts";
import { authorizationAt, refuseBareAddress } from "./server-addresses.ts";

/** Writes the code by which programs of one language call models; `source` is their server or file. */
type WriteClient = (models: ReadonlyMap<string, DescribedModel>, source: string, client: ClientModule) => string;

/** Writers by language: types for `kserving/client` or `kserving-client`, and clients that are complete. */
const CLIENT_WRITERS = {
  typescript: writeModelTypes,
  python: writePythonClient,
  go: writeGoClient,
} satisfies Record<string, WriteClient>;
/** A key of {@link CLIENT_WRITERS}. */
type ClientLanguage = keyof typeof CLIENT_WRITERS;

const EPILOGUE = `
Examples:
  kserving client http://localhost:9001 --out models.d.ts
  kserving client grpc://localhost:9000 --model emotion --model faces
  kserving client emotion.onnx --out models.py
  kserving client http://localhost:9001 --out models/models.go

In TypeScript: import type { Models } from "./models.d.ts", then connect<Models>("http://localhost:9001").
In Python: from models import Client, then Client("http://localhost:9001").
In Go: import ".../models", then &models.Client{Address: "http://localhost:9001"}.
`;

interface ClientFlags extends ModelFlags {
  readonly out?: string;
  readonly language?: ClientLanguage;
  readonly model: readonly string[];
  readonly remoteAuthFile?: string;
  readonly json?: boolean;
}

/** `kserving client`: the types of served models for `kserving/client`, or a client in Python or Go. */
export async function client(argv: readonly string[]): Promise<void> {
  await runParser(createClientCommand(), argv);
}

/** The parser of `kserving client`. */
export function createClientCommand(): Command {
  const command = createParser("client", {
    description:
      "Writes what programs call a server's models with, or one model: types for TypeScript, a client for Python or Go.",
    epilogue: EPILOGUE,
  })
    .argument(
      "<place>",
      "http://HOST:PORT or grpc://HOST:PORT of a server, or a model's file or folder, or the file's address",
    )
    .option("--out <file>", "write a file: models.d.ts, models.py, models.go")
    .addOption(languageOption())
    .option("--model <name>", "model of the server; repeatable (default: all that are ready)", collect, [])
    .option("--driver <name>", "driver for a model (default: by its path)");
  return addModelFlags(command)
    .option("--remote-auth-file <file>", "credentials at the server, as for kserving replay")
    .option("--json", "print JSON")
    .action(run);
}

function languageOption(): Option {
  const help = "language (default: by --out's ending, else typescript)";
  return new Option("--language <name>", help).choices(Object.keys(CLIENT_WRITERS)).conflicts("json");
}

async function run(place: string, flags: ClientFlags): Promise<void> {
  const models = await withProgress(`asking ${place}`, () => describe(place, flags));
  if (models.size === 0)
    throw failedPrecondition(`${place} has no model that is ready; wait for one, or name it by --model.`);
  const { language = languageOfFile(flags.out ?? "") } = flags;
  const writeClient: WriteClient = CLIENT_WRITERS[language];
  const content = flags.json
    ? `${JSON.stringify({ models: Object.fromEntries(models) }, null, 2)}\n`
    : writeClient(models, place, clientModuleAt(dirname(resolve(flags.out ?? "-"))));
  if (flags.out === undefined) {
    process.stdout.write(content);
    return;
  }
  writeOut(flags.out, content);
  console.error(`${flags.out} is written for ${[...models.keys()].join(", ")}`);
}

async function describe(place: string, { model, remoteAuthFile, ...flags }: ClientFlags) {
  if (!isAddress(place) || (await isDetected(shownAddress(place)))) {
    refuseBareAddress(place, "server");
    if (model.length > 0) throw invalidArgument(`--model is for servers; "${place}" is one model's file or folder.`);
    return describeFile(place, flags);
  }
  return describeServed({ address: place, authorization: await authorizationAt(place, remoteAuthFile), names: model });
}

/** The client's module for programs in a folder: that of the package of the client where they depend on it alone. */
function clientModuleAt(folder: string): ClientModule {
  const parent = dirname(folder);
  let manifest: Record<string, object | undefined>;
  try {
    manifest = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
  } catch (reason) {
    const isMissing = (reason as NodeJS.ErrnoException).code === "ENOENT";
    return isMissing && parent !== folder ? clientModuleAt(parent) : "kserving/client";
  }
  const { dependencies, devDependencies, peerDependencies } = manifest ?? {};
  const packages = Object.keys({ ...dependencies, ...devDependencies, ...peerDependencies });
  return packages.includes("kserving-client") && !packages.includes("kserving") ? "kserving-client" : "kserving/client";
}

/** The language of a file by its ending; TypeScript if it tells none. */
function languageOfFile(path: string): ClientLanguage {
  if (path.endsWith(".py")) return "python";
  return path.endsWith(".go") ? "go" : "typescript";
}

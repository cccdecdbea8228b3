#!/usr/bin/env node
import { createInterface } from "node:readline";
import { parseArgs } from "node:util";
import { failedPrecondition, invalidArgument, reasonText } from "../../errors.ts";
import { printable } from "../../platform/text/terminal.ts";
import { readVersion } from "../../version.ts";
import { assertEmptyFolder } from "../commands/out-files.ts";
import { type FolderKind, KINDS, nextCommands, scaffoldFiles, writeFolder } from "./new-folder.ts";

/** The program of the package create-kserving, which `npm create kserving` runs; it depends on no package. */
const USAGE = `Usage: npm create kserving [KIND] [FOLDER]

Writes a folder to begin with, for the model server kserving:

  hooks    hooks in TypeScript that run before and after a model, and their test
  driver   a driver in TypeScript, which loads and runs models of its own format, and its test
  project  a configuration with models, their hooks, and a test of both

FOLDER is empty or not there. At a terminal, whatever is not given is asked for; elsewhere KIND is project, and FOLDER
is named as its kind.`;

const KIND: FolderKind = "project";

interface Choice {
  readonly kind?: FolderKind | undefined;
  readonly name?: string | undefined;
}

try {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: { help: { type: "boolean", short: "h" }, version: { type: "boolean" } },
  });
  if (values.help) console.log(USAGE);
  else if (values.version) console.log(readVersion());
  else createFolder(await complete(readWords(positionals)));
} catch (reason) {
  console.error(printable(`create-kserving: ${reasonText(reason)}\nnpm create kserving -- --help says more.`));
  process.exitCode = 2;
}

/** A single word that is no kind is a folder. */
function readWords([first, second, ...others]: readonly string[]): Choice {
  if (others.length > 0) throw invalidArgument(`There are ${2 + others.length} words; expected KIND and FOLDER.`);
  if (first === undefined || isKind(first)) return { kind: first, name: second };
  if (second === undefined) return { name: first };
  throw invalidArgument(`The kind "${first}" is unknown; expected ${Object.keys(KINDS).join(", ")}.`);
}

function isKind(word: string): word is FolderKind {
  return Object.hasOwn(KINDS, word);
}

/** Asks a person at a terminal, and no one else, for missing words. */
async function complete({ kind, name }: Choice): Promise<Choice> {
  if (!process.stdin.isTTY || !process.stdout.isTTY) return { kind, name };
  const lines = createInterface({ input: process.stdin, output: process.stdout });
  const typed = lines[Symbol.asyncIterator]();
  const ask = async (question: string, usual: string) => {
    lines.setPrompt(`${question} (${usual}): `);
    lines.prompt();
    const { value, done } = await typed.next();
    if (done) throw failedPrecondition("Nothing was written.");
    return value.trim() || usual;
  };
  try {
    const chosen = kind ?? (await ask(Object.keys(KINDS).join(", "), KIND));
    return readWords([chosen, name ?? (await ask("folder", chosen))]);
  } finally {
    lines.close();
  }
}

function createFolder({ kind = KIND, name = kind }: Choice): void {
  assertEmptyFolder(name, name, `npm create kserving ${kind} FOLDER`);
  const files = scaffoldFiles(KINDS[kind], { folder: name, version: readVersion() });
  writeFolder(name, files);
  console.log(nextCommands(name, files, ["npm install"]));
}

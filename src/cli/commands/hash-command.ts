import type { Command } from "commander";
import { hashPassword } from "../../access/authentication/password-hash.ts";
import { createToken, hashToken } from "../../access/authentication/tokens.ts";
import { invalidArgument } from "../../errors.ts";
import { readSecret } from "../read-secret.ts";
import { createParser, type ParserHelp, runParser } from "./create-parser.ts";

/** The commands that write lines of files of users and tokens. */
type HashCommandName = "hash-password" | "hash-token";

const TEXTS: Readonly<Record<HashCommandName, ParserHelp>> = {
  "hash-password": {
    description: "Asks for a password, or reads it from standard input, and prints a line for --auth-users.",
    epilogue: `
Examples:
  kserving hash-password alice >> users.txt
  kserving hash-password alice < password.txt >> users.txt
`,
  },
  "hash-token": {
    description: "Makes a token, or reads one from standard input, and prints a line for --auth-tokens.",
    epilogue: `
Examples:
  kserving hash-token ci >> tokens.txt
  kserving hash-token ci < token.txt >> tokens.txt

A token that it makes is written to standard error, once: it stands in no file.
`,
  },
};

/** `kserving hash-password` and `kserving hash-token`. */
export async function hash(name: HashCommandName, argv: readonly string[]): Promise<void> {
  await runParser(createHashCommand(name).action(name === "hash-password" ? printPassword : printToken), argv);
}

/** The parser of `kserving hash-password` or `kserving hash-token`. */
export function createHashCommand(name: HashCommandName): Command {
  return createParser(name, TEXTS[name]).argument("<name>", "name by which rules and logs know it");
}

async function printPassword(name: string): Promise<void> {
  assertName(name);
  const password = await readSecret(`Password of ${name}: `);
  if (process.stdin.isTTY && (await readSecret("Again: ")) !== password)
    throw invalidArgument("The two passwords differ; type the same one twice.");
  console.log(`${name}:${await hashPassword(password)}`);
}

async function printToken(name: string): Promise<void> {
  assertName(name);
  const token = process.stdin.isTTY ? createToken() : await readSecret("");
  const line = hashToken(token);
  if (process.stdin.isTTY) process.stderr.write(`${token}\n`);
  console.log(`${name}:${line}`);
}

function assertName(name: string): void {
  if (/^[^\p{Cc}:]{1,200}$/u.test(name) && name.trim() === name) return;
  throw invalidArgument(`"${name}" is not a name; expected up to 200 characters without a colon.`);
}

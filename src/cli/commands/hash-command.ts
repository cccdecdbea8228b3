import type { Command } from "commander";
import { createToken, hashToken } from "../../access/authentication/credential-files.ts";
import { hashPassword } from "../../access/authentication/password-hash.ts";
import { invalidArgument } from "../../errors.ts";
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

/** Characters of the longest secret. */
const MAX_SECRET = 4096;
const [ENTER, INTERRUPT, END, BACKSPACE] = [/[\r\n]/, "\u0003", "\u0004", /[\b\u007f]/] as const;

/** `kserving hash-password` and `kserving hash-token`. */
export async function hash(name: HashCommandName, argv: readonly string[]): Promise<void> {
  await runParser(createHashCommand(name).action(name === "hash-password" ? printPassword : printToken), argv);
}

/** The parser of `kserving hash-password` or `kserving hash-token`. */
export function createHashCommand(name: HashCommandName): Command {
  return createParser(name, TEXTS[name]).argument("<name>", "name by which rules and logs know it");
}

/**
 * Reads a secret: at a terminal a line that is not shown, elsewhere the whole input without the line break at its end.
 * Throws `invalid_argument` for an empty one.
 */
export async function readSecret(question: string, input: NodeJS.ReadStream = process.stdin): Promise<string> {
  const secret = input.isTTY ? await readLine(question, input) : await readAll(input);
  if (secret === "") throw invalidArgument("Nothing was given; type it, or send it to standard input.");
  return secret;
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

async function readAll(input: AsyncIterable<Buffer | string>): Promise<string> {
  let text = "";
  for await (const piece of input) {
    text += String(piece);
    if (text.length > MAX_SECRET)
      throw invalidArgument(`More than ${MAX_SECRET} characters were given; expected a line.`);
  }
  return text.replace(/\r?\n$/, "");
}

function readLine(question: string, input: NodeJS.ReadStream): Promise<string> {
  // Before the question, whose answer would be shown until then.
  input.setRawMode(true).setEncoding("utf8").resume();
  process.stderr.write(question);
  return new Promise((resolve, reject) => {
    let line = "";
    const end = (settle: () => void) => {
      input.off("data", take).setRawMode(false).pause();
      process.stderr.write("\n");
      settle();
    };
    const take = (text: string) => {
      for (const sign of text) {
        if (ENTER.test(sign)) return end(() => resolve(line));
        if (sign === INTERRUPT || sign === END) return end(() => reject(invalidArgument("Nothing was given.")));
        line = BACKSPACE.test(sign) ? line.slice(0, -1) : line + sign;
      }
    };
    input.on("data", take);
  });
}

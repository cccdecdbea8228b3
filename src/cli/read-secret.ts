import { invalidArgument } from "../errors.ts";

/** Input of a program: a terminal, or anything else. */
export type SecretInput = NodeJS.ReadStream;

/** Bytes of the longest secret. */
const MAX_BYTES = 4096;
const [ENTER, INTERRUPT, END, BACKSPACE] = [/[\r\n]/, "\u0003", "\u0004", /[\b\u007f]/] as const;

/**
 * Reads a secret: at a terminal a line that is not shown, elsewhere the whole input without the line break at its end.
 * Throws `invalid_argument` for an empty one.
 */
export async function readSecret(question: string, input: SecretInput = process.stdin): Promise<string> {
  const secret = input.isTTY ? await readLine(question, input) : await readAll(input);
  if (secret === "") throw invalidArgument("Nothing was given; type it, or send it to standard input.");
  return secret;
}

async function readAll(input: AsyncIterable<Buffer | string>): Promise<string> {
  let text = "";
  for await (const piece of input) {
    text += String(piece);
    if (text.length > MAX_BYTES)
      throw invalidArgument(`More than ${MAX_BYTES} characters were given; expected a line.`);
  }
  return text.replace(/\r?\n$/, "");
}

function readLine(question: string, input: SecretInput): Promise<string> {
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

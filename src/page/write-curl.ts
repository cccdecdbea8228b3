import { shellQuoted, shellWord } from "../text/shell-word.ts";
import { CREDENTIALS_NOTE, type Program } from "./program.ts";

/** The program as a line of a shell. */
export function writeCurl({ url, parts, needsCredentials }: Program): string {
  const note = needsCredentials ? `# ${CREDENTIALS_NOTE}\n` : "";
  const call = `curl ${needsCredentials ? '-H "Authorization: $AUTHORIZATION" ' : ""}${shellWord(url)}`;
  const [only] = parts;
  if (parts.length === 1) return `${note}${call} -d ${shellQuoted(only as string)}\n`;
  const words = parts.map((part) => {
    if (typeof part === "string") return shellQuoted(part);
    return "file" in part
      ? `"$(base64 < ${shellQuoted(part.file)} | tr -d '\\n'${part.isUrlSafe ? " | tr +/ -_" : ""})"`
      : // With a space, for a number below 0 is no option.
        `"$(yes ${shellQuoted(` ${part.fill}`)} | head -n ${part.count} | paste -sd, -)"`;
  });
  return `${note}printf %s ${words.join("")} |\n  ${call} -d @-\n`;
}

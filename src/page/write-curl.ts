import { CREDENTIALS_NOTE, type Program } from "./program.ts";

/** The program as a line of a shell. */
export function writeCurl({ url, parts, needsCredentials }: Program): string {
  const note = needsCredentials ? `# ${CREDENTIALS_NOTE}\n` : "";
  const call = `curl ${needsCredentials ? '-H "Authorization: $AUTHORIZATION" ' : ""}${url}`;
  const [only] = parts;
  if (parts.length === 1) return `${note}${call} -d ${quoted(only as string)}\n`;
  const words = parts.map((part) => {
    if (typeof part === "string") return quoted(part);
    return "file" in part
      ? `"$(base64 < ${quoted(part.file)} | tr -d '\\n')"`
      : `"$(yes ${quoted(part.fill)} | head -n ${part.count} | paste -sd, -)"`;
  });
  return `${note}printf %s ${words.join("")} |\n  ${call} -d @-\n`;
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}

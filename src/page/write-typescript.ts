import { CREDENTIALS_NOTE, expression, type Part, type Program } from "./program.ts";

/** The program in TypeScript, without any package. */
export function writeTypeScript({ url, parts, needsCredentials }: Program): string {
  const write = (part: Exclude<Part, string>) =>
    "file" in part
      ? `readFileSync(${JSON.stringify(part.file)}, "base64${part.isUrlSafe ? "url" : ""}")`
      : `Array(${part.count}).fill(${JSON.stringify(part.fill)}).join()`;
  const needsFiles = parts.some((part) => typeof part === "object" && "file" in part);
  const own = needsCredentials ? ", authorization: process.env.AUTHORIZATION!" : "";
  return `${needsFiles ? 'import { readFileSync } from "node:fs";\n\n' : ""}const body = ${expression(parts, write)};
${needsCredentials ? `// ${CREDENTIALS_NOTE}\n` : ""}const response = await fetch(${JSON.stringify(url)}, {
  method: "POST",
  headers: { "content-type": "application/json"${own} },
  body,
});
console.log(await response.text());
`;
}

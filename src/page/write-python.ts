import { CREDENTIALS_NOTE, expression, type Part, type Program } from "./program.ts";

/** The program in Python, without any package. */
export function writePython({ url, parts, needsCredentials }: Program): string {
  const write = (part: Exclude<Part, string>) =>
    "file" in part
      ? `base64.${part.isUrlSafe ? "urlsafe_" : ""}b64encode(open(${JSON.stringify(part.file)}, "rb").read()).decode()`
      : `",".join([${JSON.stringify(part.fill)}] * ${part.count})`;
  const own = needsCredentials ? ', "Authorization": os.environ["AUTHORIZATION"]' : "";
  return `import base64, json, ${needsCredentials ? "os, " : ""}urllib.request

body = ${expression(parts, write, pythonText)}
${needsCredentials ? `# ${CREDENTIALS_NOTE}\n` : ""}headers = {"Content-Type": "application/json"${own}}
request = urllib.request.Request(${JSON.stringify(url)}, body.encode(), headers)
print(json.load(urllib.request.urlopen(request)))
`;
}

/** JSON's escapes are Python's, but for one half of a pair of UTF-16, which Python's encoder refuses. */
function pythonText(text: string): string {
  return /^[^'\\\n]*$/.test(text) ? `'${text}'` : JSON.stringify(text);
}

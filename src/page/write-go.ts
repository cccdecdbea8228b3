import { CREDENTIALS_NOTE, expression, type Part, type Program } from "./program.ts";

const FILE = `
func file(name string, encoding *base64.Encoding) string {
	bytes, err := os.ReadFile(name)
	if err != nil {
		panic(err)
	}
	return encoding.EncodeToString(bytes)
}
`;

const CREDENTIALS = `	// ${CREDENTIALS_NOTE}
	request.Header.Set("Authorization", os.Getenv("AUTHORIZATION"))
`;

/** The program in Go, with nothing but its own library. */
export function writeGo({ url, parts, needsCredentials }: Program): string {
  const write = (part: Exclude<Part, string>) =>
    "file" in part
      ? `file(${JSON.stringify(part.file)}, base64.${part.isUrlSafe ? "URL" : "Std"}Encoding)`
      : `strings.Repeat(${JSON.stringify(`${part.fill},`)}, ${part.count - 1}) + ${JSON.stringify(part.fill)}`;
  const needsFiles = parts.some((part) => typeof part === "object" && "file" in part);
  return `package main

import (
${needsFiles ? '\t"encoding/base64"\n' : ""}\t"io"
\t"net/http"
\t"os"
\t"strings"
)
${needsFiles ? FILE : ""}
func main() {
\tbody := ${expression(parts, write)}
\trequest, err := http.NewRequest("POST", ${JSON.stringify(url)}, strings.NewReader(body))
\tif err != nil {
\t\tpanic(err)
\t}
\trequest.Header.Set("Content-Type", "application/json")
${needsCredentials ? CREDENTIALS : ""}\tresponse, err := http.DefaultClient.Do(request)
\tif err != nil {
\t\tpanic(err)
\t}
\tdefer response.Body.Close()
\tio.Copy(os.Stdout, response.Body)
}
`;
}

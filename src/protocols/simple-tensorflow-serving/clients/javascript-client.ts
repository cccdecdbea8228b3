import type { ClientParts } from "./client-parts.ts";

/**
 * A program for Node.js 18 and later, and for browsers, without packages. The request
 * is a raw text: its backslashes are those of JSON.
 */
export function javascriptClient({ endpoint, json }: ClientParts): string {
  return `#!/usr/bin/env node
// Sends an example of a request and prints the answer: node client.js

const endpoint = "${endpoint}";
const body = String.raw\`${json}\`;

async function main() {
  const headers = { "Content-Type": "application/json" };
  const response = await fetch(endpoint, { method: "POST", headers, body });
  if (!response.ok) throw new Error(response.status + ": " + (await response.text()));
  console.log(await response.text());
}

main();
`;
}

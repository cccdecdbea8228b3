import type { ClientParts } from "./client-parts.ts";

/** A program for TypeScript, run by Node.js 22.18 and later, tsx, Deno or Bun, without packages. */
export function typescriptClient({ endpoint, json }: ClientParts): string {
  return `// Sends an example of a request and prints the answer: npx tsx client.ts

const endpoint = "${endpoint}";
const body = String.raw\`${json}\`;

async function main(): Promise<void> {
  const headers = { "Content-Type": "application/json" };
  const response = await fetch(endpoint, { method: "POST", headers, body });
  if (!response.ok) throw new Error(response.status + ": " + (await response.text()));
  const outputs: string = await response.text();
  console.log(outputs);
}

main();
`;
}

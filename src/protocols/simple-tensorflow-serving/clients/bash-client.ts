import type { ClientParts } from "./client-parts.ts";

/** A program for Bash with curl. The request is a quoted here-document, which may be longer than an argument. */
export function bashClient({ endpoint, json }: ClientParts): string {
  return `#!/bin/bash
# Sends an example of a request and prints the answer: bash client.sh

curl --silent --show-error --header 'Content-Type: application/json' --data-binary @- '${endpoint}' <<'REQUEST'
${json}
REQUEST
`;
}

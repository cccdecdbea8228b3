import { bashClient } from "./bash-client.ts";
import type { ClientParts } from "./client-parts.ts";
import { golangClient } from "./golang-client.ts";
import { javaClient } from "./java-client.ts";
import { javascriptClient } from "./javascript-client.ts";
import { pythonClient } from "./python-client.ts";
import { typescriptClient } from "./typescript-client.ts";

/** Writers of programs that send a request and print its answer, by the names that the original has for languages. */
export const CLIENTS = {
  bash: bashClient,
  python: pythonClient,
  golang: golangClient,
  javascript: javascriptClient,
  typescript: typescriptClient,
  java: javaClient,
} satisfies Record<string, (parts: ClientParts) => string>;
/** A key of {@link CLIENTS}. */
export type ClientLanguage = keyof typeof CLIENTS;

import type { PageToken } from "../access/page-token.ts";

/** Sources of the server's own page, besides what the service tells. */
export interface PageSources {
  /** The page has it, and sends it with its calls. */
  readonly token: PageToken;
}

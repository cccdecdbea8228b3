import type { PageToken } from "../access/page-token.ts";
import type { LogTail } from "../observability/live/log-tail.ts";
import type { RecentRequests } from "../observability/live/recent-requests.ts";
import type { ModelGraph } from "../tensor/signature/model-graph.ts";
import type { LiveHistory } from "./live-history.ts";

/** Sources of the server's own page, besides what the service tells. */
export interface PageSources {
  /** The page has it, and sends it with its calls. */
  readonly token: PageToken;
  readonly history: LiveHistory;
  readonly recent: RecentRequests;
  readonly log: LogTail;
  /** Reads the graph of a model's file; its errors are for clients. Absent = another thread answers for the page. */
  readonly readGraph?: (path: string) => Promise<ModelGraph>;
}

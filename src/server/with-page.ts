import { PageToken } from "../access/page-token.ts";
import { LogTail } from "../observability/live/log-tail.ts";
import { RecentRequests } from "../observability/live/recent-requests.ts";
import type { PageSources } from "../proxy/page-sources.ts";
import { LiveHistory } from "../serving/live-history.ts";
import type { ServerChoices } from "./server-options.ts";

/**
 * The sources of the page, and the options of its server, whose log the page follows;
 * no sources where there is no page.
 */
export function withPage(choices: ServerChoices): {
  readonly choices: ServerChoices;
  readonly page?: PageSources;
} {
  const { ui, http, admin, log } = choices;
  if (!ui || (http === undefined && admin === undefined)) return { choices };
  const tail = new LogTail();
  const page = { token: new PageToken(), history: new LiveHistory(), recent: new RecentRequests(), log: tail };
  return { choices: { ...choices, log: tail.follow(log) }, page };
}

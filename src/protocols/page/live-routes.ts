import { ServingError } from "../../errors.ts";
import type { HttpExchange } from "../../proxy/http-exchange.ts";
import type { HttpAnswer, HttpRoute } from "../../proxy/http-route.ts";
import type { PageSources } from "../../proxy/page-sources.ts";

/** Routes of what a running server does; `mayWatch` tells who may see it. */
export function liveRoutes(
  { history, recent, log }: PageSources,
  mayWatch: (request: HttpExchange["request"]) => boolean,
): readonly HttpRoute[] {
  const watch = (path: string, read: (after: number) => object): HttpRoute => {
    const answer: HttpRoute["answer"] = async ({ request }) => {
      if (!mayWatch(request)) throw new ServingError("permission_denied", REFUSAL);
      return toJson(read(readAfter(request.url)));
    };
    return { method: "GET", path, kind: "read", isForOwnPage: true, answer };
  };
  return [
    watch("/ui/history", (after) => ({ samples: history.after(after) })),
    watch("/ui/requests", () => ({ requests: recent.look() })),
    watch("/ui/log", (after) => ({ lines: log.after(after) })),
  ];
}

const REFUSAL =
  "Requests and the log are shown at the server's own machine, and to callers with a name who may read about all models.";

/** `?after=N`: what is newer than the page has. */
function readAfter(url = ""): number {
  const after = Number(new URL(url, "http://server").searchParams.get("after") ?? 0);
  return Number.isFinite(after) ? after : 0;
}

function toJson(value: object): HttpAnswer {
  const headers = { "cache-control": "no-store" };
  return { contentType: "application/json", body: Buffer.from(JSON.stringify(value)), headers };
}

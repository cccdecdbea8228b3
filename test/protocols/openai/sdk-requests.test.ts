import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { shareServer } from "../../helpers/start-server.ts";
import { textHooks } from "./text-hooks.ts";

/** A request as an SDK has sent it to a server with {@link textHooks}, and the media type of the answer. */
interface SdkRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: object;
  readonly type: string;
}

const REQUESTS: readonly SdkRequest[] = JSON.parse(readFileSync("test/fixtures/text/sdk-requests.json", "utf8"));

const serve = shareServer(() => ({ stages: [{ driver: "null" }], hooks: textHooks() }));

it("has requests of the SDKs of each protocol, whole and in parts", () => {
  const paths = new Set(REQUESTS.map(({ path, body }) => `${path} ${Object(body).stream ?? false}`));
  for (const path of ["/api/chat", "/api/generate", "/v1/messages", "/v1/responses"])
    expect([...paths]).toEqual(expect.arrayContaining([`${path} false`, `${path} true`]));
});

it.each(
  REQUESTS.map((request, index) => [`${index} ${request.headers["user-agent"]} ${request.path}`, request] as const),
)("answers %s", async (_, { method, path, headers, body, type }) => {
  const { httpUrl } = await serve();
  const answer = await fetch(httpUrl + path, { method, headers, ...(body && { body: JSON.stringify(body) }) });
  const text = await answer.text();
  expect([answer.status, answer.headers.get("content-type")?.split(";")[0]]).toEqual([200, type]);
  expect(text).not.toMatch(/"error":(?!null)/);
});

import { type AttackResult, type AttackRow, type Target, tally } from "./attack-row.ts";
import { firstStatus } from "./http-attack.ts";

const BODY = '{"instances":[1]}';
const INFER = "/v1/models/default:predict";
const SIZED = `Content-Type: application/json\r\nContent-Length: ${BODY.length}\r\n\r\n${BODY}`;
const REBOUND = "attacker.example:9001";

/** Requests of which a proxy, or a thread that passes them on, may make another one, and the status of each. */
const READINGS: Readonly<Record<string, readonly [request: string, status: string]>> = {
  "a whole URL": [`POST http://127.0.0.1${INFER} HTTP/1.1\r\nHost: 127.0.0.1\r\n${SIZED}`, "200"],
  "a page of a name that leads here": [
    `POST ${INFER} HTTP/1.1\r\nHost: ${REBOUND}\r\nOrigin: http://${REBOUND}\r\n${SIZED}`,
    "403",
  ],
  "the same by a whole URL": [
    `POST http://${REBOUND}${INFER} HTTP/1.1\r\nHost: 127.0.0.1\r\nOrigin: http://${REBOUND}\r\n${SIZED}`,
    "403",
  ],
  "a page of another name than its Host": [
    `POST http://127.0.0.1${INFER} HTTP/1.1\r\nHost: ${REBOUND}\r\nOrigin: http://${REBOUND}\r\n${SIZED}`,
    "403",
  ],
  "HTTP/1.0 without a Host": [`POST ${INFER} HTTP/1.0\r\n${SIZED}`, "200"],
  "HTTP/1.1 without a Host": [`POST ${INFER} HTTP/1.1\r\n${SIZED}`, "400"],
  "two Hosts": [`POST ${INFER} HTTP/1.1\r\nHost: 127.0.0.1\r\nHost: ${REBOUND}\r\n${SIZED}`, "400"],
  "a Host with a path": [`POST ${INFER} HTTP/1.1\r\nHost: 127.0.0.1/b\r\n${SIZED}`, "400"],
  "a connection that names its type": [
    `POST ${INFER} HTTP/1.1\r\nHost: a\r\nConnection: keep-alive, Content-Type, Origin\r\nOrigin: http://${REBOUND}\r\n${SIZED}`,
    "403",
  ],
  "a control call under another method": [
    `POST ${INFER} HTTP/1.1\r\nHost: a\r\nX-HTTP-Method-Override: DELETE\r\nX-Original-URL: /v2/repository/index\r\n${SIZED}`,
    "200",
  ],
};

/** One reading of a request, with threads that listen and without. */
export const READING_ROWS: readonly AttackRow[] = [
  { name: "one-reading-alone", server: "defaults", hasListeners: false, prepare: () => readAll },
  { name: "one-reading-listeners", server: "defaults", hasListeners: true, prepare: () => readAll },
];

async function readAll({ http }: Target): Promise<AttackResult> {
  const got: string[] = [];
  const wrong: string[] = [];
  for (const [name, [request, expected]] of Object.entries(READINGS)) {
    const status = await firstStatus(http, request);
    got.push(status);
    if (status !== expected) wrong.push(`${name} ${status} and not ${expected}`);
  }
  return wrong.length === 0 ? { got: tally(got) } : { got: tally(got), problem: wrong.join(", ") };
}

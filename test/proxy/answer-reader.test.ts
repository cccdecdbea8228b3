import { describe, expect, it, test } from "vitest";
import { type AnswerHead, AnswerReader } from "../../src/proxy/answer-reader.ts";

interface Read {
  readonly interims: AnswerHead[];
  readonly heads: AnswerHead[];
  readonly body: string;
  readonly isOver: boolean;
  readonly endsWithConnection: boolean;
}

/** Reads a text that comes in pieces of some bytes. */
function read(text: string, { method = "GET", step = text.length } = {}): Read {
  const reader = new AnswerReader(method);
  const [interims, heads, body] = [[] as AnswerHead[], [] as AnswerHead[], [] as Buffer[]];
  for (let at = 0; at < text.length; at += step) {
    const part = reader.read([Buffer.from(text.slice(at, at + step), "latin1")]);
    if (part.interim !== undefined) interims.push({ ...part.interim });
    if (part.head !== undefined) heads.push({ ...part.head });
    body.push(...part.body);
  }
  const { isOver, endsWithConnection } = reader;
  return { interims, heads, body: Buffer.concat(body).toString("latin1"), isOver, endsWithConnection };
}

const OK = "HTTP/1.1 200 OK\r\n";
const CONTINUE = "HTTP/1.1 100 Continue\r\n\r\n";
/** Each with its body, and whether it is whole. */
const ANSWERS: Readonly<Record<string, readonly [text: string, body: string, isOver: boolean]>> = {
  "of a known length": [`${OK}Content-Length: 3\r\n\r\nabc`, "abc", true],
  "without a body": [`${OK}Content-Length: 0\r\n\r\n`, "", true],
  "whose body is not whole": [`${OK}Content-Length: 4\r\n\r\nabc`, "abc", false],
  "in chunks": [
    `${OK}Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n1A\r\n${"z".repeat(26)}\r\n0\r\n\r\n`,
    `abc${"z".repeat(26)}`,
    true,
  ],
  "in chunks with line ends": [
    `${OK}Transfer-Encoding: chunked\r\n\r\n6\r\n\r\n0\r\n\r\r\n0\r\n\r\n`,
    "\r\n0\r\n\r",
    true,
  ],
  "with trailers": [`${OK}Transfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\na: b\r\n\r\n`, "a", true],
  "whose last chunk is missing": [`${OK}Transfer-Encoding: chunked\r\n\r\n1\r\na\r\n`, "a", false],
  "that ends with its connection": [`${OK}\r\nabc`, "abc", false],
  "after an interim one": [`${CONTINUE}${OK}Content-Length: 1\r\n\r\na`, "a", true],
  "with another behind it": [`${OK}Content-Length: 1\r\n\r\na${OK}Content-Length: 1\r\n\r\nb`, "a", true],
};

describe.each(Object.entries(ANSWERS))("an answer %s", (_, [text, body, isOver]) => {
  it("is read the same however it is split", () => {
    const whole = read(text);
    expect([whole.body, whole.isOver, whole.heads.length]).toEqual([body, isOver, 1]);
    expect(whole.interims).toHaveLength(text.startsWith(CONTINUE) ? 1 : 0);
    for (let step = 1; step < text.length; step++) expect(read(text, { step })).toEqual(whole);
  });
});

test("an answer whose body ends with its connection says so, and no other", () => {
  const ending = Object.entries(ANSWERS).filter(([, [text]]) => read(text).endsWithConnection);
  expect(ending.map(([name]) => name)).toEqual(["that ends with its connection"]);
});

test.each([
  ["HEAD", `${OK}Content-Length: 3\r\n\r\n`, "3"],
  ["HEAD", `${OK}Transfer-Encoding: chunked\r\n\r\n`, undefined],
  ["GET", "HTTP/1.1 204 No Content\r\n\r\n", undefined],
  ["GET", "HTTP/1.1 304 Not Modified\r\nContent-Length: 7\r\n\r\n", "7"],
])("an answer to %s that has no body is over with its head: %s", (method, text, length) => {
  const { isOver, heads } = read(text, { method });
  expect([isOver, heads[0]?.["content-length"]]).toEqual([true, length]);
});

test("a head has its names in lower case, values as they are, repeated ones apart, and nothing of the connection", () => {
  const fields = [
    "Connection: keep-alive",
    "Keep-Alive: timeout=5",
    "Proxy-Connection: close",
    "Transfer-Encoding: chunked",
    "Upgrade: h2c",
    "X-Text:  a: b\t\xc3\xa0 ",
    "X-Empty:",
    "Set-Cookie: a=1",
    "Set-Cookie: b=2",
    "__proto__: c",
  ];
  const { heads } = read(`HTTP/1.1 503 Service Unavailable\r\n${fields.join("\r\n")}\r\n\r\n0\r\n\r\n`);
  expect(Object.entries(heads[0] ?? {})).toEqual([
    [":status", "503"],
    ["x-text", "a: b\t\xc3\xa0"],
    ["x-empty", ""],
    ["set-cookie", ["a=1", "b=2"]],
    ["__proto__", "c"],
  ]);
});

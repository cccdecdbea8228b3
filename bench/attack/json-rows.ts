import { gzipSync } from "node:zlib";
import { type AttackRow, tally } from "./attack-row.ts";
import { call, METHODS } from "./grpc-attack.ts";
import { post } from "./http-attack.ts";
import { bytesField } from "./protobuf.ts";

/** A list that costs more than its bytes: `unit`, `count` times. */
interface HostileList {
  readonly name: string;
  readonly unit: string;
  readonly count: number;
}

const LISTS: readonly HostileList[] = [
  { name: "empty-lists", unit: "[]", count: 3_000_000 },
  { name: "objects", unit: "{}", count: 3_000_000 },
  { name: "strings", unit: '"a"', count: 3_500_000 },
  { name: "escapes", unit: '"\\u00e9\\n"', count: 1_000_000 },
  { name: "long-strings", unit: `"${"a".repeat(1000)}"`, count: 30_000 },
  { name: "base64", unit: '{"b64":"YQ=="}', count: 1_000_000 },
  { name: "rows", unit: "[1]", count: 1_000_000 },
  { name: "deep-rows", unit: "[[[[[1]]]]]", count: 500_000 },
  { name: "columns", unit: '{"x":1}', count: 1_000_000 },
  { name: "index-names", unit: '{"999":1}', count: 500_000 },
  { name: "integers", unit: "7", count: 10_000_000 },
  { name: "floats", unit: "1.2345678901234567e-5", count: 2_000_000 },
  { name: "large-integers", unit: "9007199254740993", count: 2_000_000 },
  { name: "digits", unit: "3".repeat(100_000), count: 100 },
  { name: "booleans", unit: "true", count: 4_000_000 },
  { name: "nulls", unit: "null", count: 4_000_000 },
  { name: "ragged", unit: "[1],[1,2]", count: 1_000_000 },
];

interface JsonRoute {
  readonly name: string;
  readonly path: string;
  readonly head: (list: HostileList) => string;
  readonly tail: string;
}

const V2_DATATYPES: Readonly<Record<string, string>> = {
  integers: "INT64",
  floats: "FP64",
  booleans: "BOOL",
  rows: "FP32",
};
const ORIGINAL_DTYPES: Readonly<Record<string, number>> = {
  integers: 3,
  floats: 2,
  "large-integers": 9,
  booleans: 10,
  rows: 1,
};

const ROUTES: readonly JsonRoute[] = [
  { name: "tf-rows", path: "/v1/models/default:predict", head: () => '{"instances":[', tail: "]}" },
  { name: "tf-columns", path: "/v1/models/default:predict", head: () => '{"inputs":{"x":[', tail: "]}}" },
  {
    name: "v2",
    path: "/v2/models/default/infer",
    head: ({ name, count }) =>
      `{"inputs":[{"name":"x","shape":[${count}],"datatype":"${V2_DATATYPES[name] ?? "BYTES"}","data":[`,
    tail: "]}]}",
  },
  {
    name: "predict",
    path: "/predict",
    head: ({ name }) => `{"inputs":{"x":{"dtype":${ORIGINAL_DTYPES[name] ?? 7},"data":[`,
    tail: "]}}}",
  },
  { name: "proxy", path: "/serving-proxy", head: () => '{"x":[', tail: "]}" },
];

/** A body for hooks, beside which the memory of all requests has room for its answer. */
const LARGE_BYTES = 200_000_000;

/** Every list on every route of JSON over HTTP, the proxy's also over gRPC and compressed. */
export const JSON_ROWS: readonly AttackRow[] = [
  ...ROUTES.flatMap((route) => LISTS.map((list) => httpRow(route, list))),
  ...LISTS.map(predictJsonRow),
  ...["empty-lists", "objects", "strings"].flatMap(compressedRows),
  ...objectRows(),
  ...["floats", "long-strings"].map(hookRow),
];

function httpRow(route: JsonRoute, list: HostileList): AttackRow {
  const prepare = () => {
    const body = toBody(route, list);
    return async (target: Parameters<typeof post>[0]) => ({ got: await post(target, { path: route.path, body }) });
  };
  return { name: `json-${route.name}-${list.name}`, server: "null", prepare };
}

function predictJsonRow(list: HostileList): AttackRow {
  return {
    name: `json-grpc-${list.name}`,
    server: "null",
    prepare: () => {
      const message = bytesField(1, listBody('{"x":[', list, "]}"));
      return async (target) => ({ got: await call(target, { path: METHODS.predictJson, message }) });
    },
  };
}

/** A few thousand bytes on the wire, four requests at once. */
function compressedRows(listName: string): AttackRow[] {
  const list = LISTS.find(({ name }) => name === listName) as HostileList;
  const four = <Value>(send: () => Promise<Value>) => Promise.all([send(), send(), send(), send()]);
  const overHttp: AttackRow = {
    name: `gzip-proxy-${list.name}`,
    server: "null",
    prepare: () => {
      const body = gzipSync(listBody('{"x":[', list, "]}"));
      const headers = { "content-encoding": "gzip" };
      return async (target) => ({
        got: tally(await four(() => post(target, { path: "/serving-proxy", body, headers }))),
      });
    },
  };
  const overGrpc: AttackRow = {
    name: `gzip-grpc-${list.name}`,
    server: "null",
    prepare: () => {
      const message = gzipSync(bytesField(1, listBody('{"x":[', list, "]}")));
      const headers = { "grpc-encoding": "gzip" };
      const send = { path: METHODS.predictJson, message, headers, isCompressed: true };
      return async (target) => ({ got: tally(await four(() => call(target, send))) });
    },
  };
  return [overHttp, overGrpc];
}

/** Objects and nesting that are no lists. */
function objectRows(): AttackRow[] {
  const keys = (key: (index: number) => string) =>
    Array.from({ length: 1_000_000 }, (_, index) => key(index)).join(",");
  const bodies: Readonly<Record<string, () => string>> = {
    "distinct-keys": () => `{"inputs":{${keys((index) => `"k${index}":1`)}}}`,
    "equal-keys": () => `{"inputs":{${keys(() => '"k":1')}}}`,
    "keys-in-rows": () => `{"instances":[{${keys((index) => `"k${index}":1`)}}]}`,
    "integer-keys": () => `{"inputs":{${keys((index) => `"${index * 7}":1`)}}}`,
    depth: () => `{"inputs":${"[".repeat(5_000_000)}`,
    "closed-depth": () => `{"inputs":${"[".repeat(2_000_000)}${"]".repeat(2_000_000)}}`,
    spaces: () => `{"inputs":${" ".repeat(50_000_000)}1}`,
    text: () => `{"inputs":{"x":"${"\\u0061".repeat(5_000_000)}"}}`,
  };
  const paths = {
    tf: "/v1/models/default:predict",
    v2: "/v2/models/default/infer",
    predict: "/predict",
    proxy: "/serving-proxy",
  };
  return Object.entries(paths).flatMap(([wire, path]) =>
    Object.entries(bodies).map(
      ([name, text]) =>
        ({
          name: `json-${wire}-${name}`,
          server: "null",
          prepare: () => {
            const body = Buffer.from(text());
            return async (target) => ({ got: await post(target, { path, body }) });
          },
        }) satisfies AttackRow,
    ),
  );
}

/** As much JSON as there may be, for hooks that others ask too. */
function hookRow(listName: string): AttackRow {
  const { unit, ...list } = LISTS.find(({ name }) => name === listName) as HostileList;
  const count = Math.floor(LARGE_BYTES / (unit.length + 1));
  const prepare = () => {
    const body = listBody('{"x":[', { ...list, unit, count }, "]}");
    return async (target: Parameters<typeof post>[0]) => ({
      got: await post(target, { path: "/serving-proxy", body }),
    });
  };
  return { name: `json-hooks-${listName}`, server: "hooks", prepare };
}

function toBody(route: JsonRoute, list: HostileList): Buffer {
  return listBody(route.head(list), list, route.tail);
}

function listBody(head: string, { unit, count }: HostileList, tail: string): Buffer {
  const units = Buffer.alloc((unit.length + 1) * count, `${unit},`);
  return Buffer.concat([Buffer.from(head), units.subarray(0, -1), Buffer.from(tail)]);
}

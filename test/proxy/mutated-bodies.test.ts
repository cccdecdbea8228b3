import { describe, expect, test } from "vitest";
import { defineHooks } from "../../src/hooks/hooks.ts";
import type { TensorSpec } from "../../src/tensor/signature/signature.ts";
import { mutate } from "../fuzz/mutate.ts";
import { Random } from "../grpc/random.ts";
import { shareServer } from "../helpers/start-server.ts";

/** Of each body for both servers; the decoders alone get more in test/fuzz, and in `npm run check -- fuzz`. */
const MUTATIONS = 240;
/** Statuses that a client's mistakes may lead to; any other would be the server's own failure. */
const ALLOWED = [200, 400, 404, 415];

const SPECS: readonly TensorSpec[] = [
  { name: "x", dtype: "float32" },
  { name: "s", dtype: "bytes" },
  { name: "n", dtype: "int64" },
];

const ROWS =
  '{"signature_name": "serving_default", "instances": [{"x": [1, 2.5], "s": "é", "n": 9007199254740993}, {"x": [NaN, -3e2], "s": {"b64": "/w=="}, "n": -1}]}';
const COLUMNS = '{"inputs": {"x": [[1, 2.5], [3, 4]], "s": ["a\\n", {"b64": "aGVsbG8="}], "n": [1, 2]}}';
const PLAIN = '{"instances": [[[1, 2, 3], [4, 5, 6]], [[7, 8, 9], [0.5, 1e-3, -0]]]}';
const PROXY =
  '{"inputs": {"x": {"dtype": 1, "data": [[1, null], [3, 4]]}, "s": {"dtype": "string", "data": "aGVsbG8="}, "n": {"dtype": 9, "data": [1]}}, "out_filter": ["x"], "out_mime_type": ""}';
const FORM =
  '--b\r\nContent-Disposition: form-data; name="float_x"\r\n\r\n1,2.5\r\n--b\r\nContent-Disposition: form-data; name="byte_s"; filename="f"\r\nContent-Type: image/png\r\n\r\n\x89PNG\r\n--b\r\nContent-Disposition: form-data; name="int_n"\r\n\r\n7\r\n--b--\r\n';

const stages = [{ driver: "null" }];
const SERVERS = [
  shareServer(() => ({ stages })),
  shareServer(() => ({ stages, hooks: defineHooks({ inputs: SPECS, process: (inputs) => inputs }) })),
];

describe("mutated bodies", () => {
  test.each([
    ["rows", "/v1/models/default:predict", ROWS, "application/json"],
    ["columns", "/v1/models/default:predict", COLUMNS, "application/json"],
    ["a plain list", "/v1/models/default:predict", PLAIN, "application/json"],
    ["the original's JSON", "/predict", PROXY, "application/json"],
    ["a form", "/predict", FORM, "multipart/form-data; boundary=b"],
  ])("of %s never make the server fail, with and without a signature", async (_, path, text, type) => {
    const servers = await Promise.all(SERVERS.map((start) => start()));
    const random = new Random(text.length);
    const seen = new Set<number>();
    for (let round = 0; round < MUTATIONS / servers.length; round++) {
      const body = mutate(Buffer.from(text, path === "/predict" ? "latin1" : "utf8"), random);
      for (const { httpUrl } of servers) {
        const response = await fetch(httpUrl + path, { method: "POST", body, headers: { "content-type": type } });
        const answer = await response.text();
        seen.add(response.status);
        if (!ALLOWED.includes(response.status)) {
          expect.fail(`${response.status} ${answer} for ${JSON.stringify(body.toString("latin1"))}`);
        }
        if (response.status !== 200) expect(JSON.parse(answer)).toMatchObject({ error: expect.any(String) });
      }
    }
    expect(seen).toContain(200);
    expect(seen).toContain(400);
  });
});

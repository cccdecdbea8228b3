import type { Random } from "../grpc/random.ts";
import { randomJson } from "../proxy/random-json.ts";

/** One to three bytes, or stretches of bytes, changed, left out, doubled or replaced with something of JSON. */
export function mutate(original: Buffer, random: Random): Buffer {
  let bytes = original;
  for (let times = 1 + random.below(3); times > 0; times--) {
    const at = random.below(bytes.length + 1);
    const end = Math.min(bytes.length, at + random.pick([0, 1, 1, 2, random.below(40)]));
    const piece = random.pick([
      Buffer.alloc(0),
      Buffer.from(random.bytes(1 + random.below(3))),
      Buffer.from(
        random.pick([
          ...'[]{},:"\\0-.eNI\r\n',
          "null",
          "1e999",
          '"\\ud800"',
          "[[[[",
          "-Infinity",
          "18446744073709551616",
        ]),
      ),
      bytes.subarray(at, end),
      Buffer.from(randomJson(random, 3)),
    ]);
    bytes = Buffer.concat([bytes.subarray(0, at), piece, random.pick([bytes.subarray(end), bytes.subarray(at)])]);
  }
  return bytes;
}

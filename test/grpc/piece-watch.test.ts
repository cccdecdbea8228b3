import { expect, it } from "vitest";
import { PieceWatch } from "../../src/grpc/piece-watch.ts";

/** Number of pieces of a size that are taken before the watch calls them a flood; undefined = all. */
function takenBefore(bytes: number): number | undefined {
  const watch = new PieceWatch();
  for (let piece = 0; piece < 100_000; piece++) if (watch.isFlood(bytes)) return piece;
  return undefined;
}

it("takes any number of pieces of 16 bytes and more, and 2000 smaller ones", () => {
  expect([16, 15, 1, 0].map(takenBefore)).toEqual([undefined, 2000, 2000, 2000]);
});

it("counts again from zero for the next message", () => {
  const watch = new PieceWatch();
  for (let message = 0; message < 10; message++) {
    for (let piece = 0; piece < 2000; piece++) expect(watch.isFlood(1)).toBe(false);
    watch.restart();
  }
  for (let piece = 0; piece < 2000; piece++) watch.isFlood(1);
  expect(watch.isFlood(1)).toBe(true);
});

import { randomUUID } from "node:crypto";
import { setEnvironmentData } from "node:worker_threads";
import { expect, it, onTestFinished } from "vitest";
import { openProcessCells } from "../../../src/platform/limits/process-cells.ts";

function named(): string {
  const name = randomUUID();
  onTestFinished(() => setEnvironmentData(name));
  return name;
}

it("cells are new to who opens them first, and others see the same", () => {
  const name = named();
  const first = openProcessCells(name, 3);
  expect(first).toEqual({ cells: new Int32Array(3), isNew: true });
  first.cells[2] = 7;
  expect(openProcessCells(name, 3)).toEqual({ cells: Int32Array.of(0, 0, 7), isNew: false });
});

it("what another program has put under the name is no cells", () => {
  const name = named();
  setEnvironmentData(name, "text");
  expect(openProcessCells(name, 1)).toEqual({ cells: new Int32Array(1), isNew: true });
});

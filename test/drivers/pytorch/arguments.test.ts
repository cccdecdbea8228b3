import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { createTensor } from "../../../src/tensor/tensor.ts";
import { findPython } from "../../helpers/find-python.ts";
import { warmPython } from "../../helpers/warm-python.ts";
import { predict } from "../predict.ts";
import { loadModel } from "../python/load-model.ts";

const python = findPython("What torch's models take", ["torch"]);
const warm = warmPython(python, "torch");

const MODELS = `
import os, sys
import torch

class Masked(torch.nn.Module):
    """Ids, which are whole, and a mask, which is not."""
    def __init__(self):
        super().__init__()
        self.table = torch.nn.Embedding(10, 1)
        self.last = torch.nn.Linear(2, 1, bias=False)
        torch.nn.init.constant_(self.table.weight, 2.0)
        torch.nn.init.ones_(self.last.weight)
    def forward(self, ids, mask):
        return self.table(ids).squeeze(-1), self.last(mask)

class Only(torch.nn.Module):
    def forward(self, ids, *, mask):
        return ids * mask

class Softmax(torch.nn.Module):
    def forward(self, x):
        return torch.softmax(x, -1)

class Where(torch.nn.Module):
    def forward(self, chosen, x):
        return torch.where(chosen, x, -x)

class Named(torch.nn.Module):
    def forward(self, ids, mask): return {"logits": ids * mask}

class OfDict(torch.nn.Module):
    def forward(self, batch): return {"logits": batch["ids"] * batch["mask"]}

class OfList(torch.nn.Module):
    def forward(self, pair): return {"logits": pair[0] * pair[1]}

class Constant(torch.nn.Module):
    def forward(self, ids, mask, times=1, other=None): return {"logits": ids * mask * times}

def main(folder):
    at = lambda name: os.path.join(folder, name)
    linear = torch.nn.Linear(2, 1, bias=False)
    torch.nn.init.ones_(linear.weight)
    for name, model in (("linear", linear), ("masked", Masked()), ("softmax", Softmax()), ("where", Where())):
        torch.jit.script(model).save(at(name + ".pt"))
    torch.save(Only().state_dict(), at("only.pt"))
    if int(torch.__version__.split(".")[0]) < 2:
        return
    ids, mask = torch.tensor([[1, 2, 3]]), torch.tensor([[1.0, 0.0, 1.0]])
    named = {"ids": ids, "mask": mask}
    cases = {
        "position": (Named(), (ids, mask), None),
        "keyword": (Named(), (), named),
        "only": (Only(), (ids,), {"mask": mask}),
        "dict": (OfDict(), (named,), None),
        "list": (OfList(), ([ids, mask],), None),
        "constant": (Constant(), (ids, mask, 2), {"other": None}),
    }
    for name, (model, args, kwargs) in cases.items():
        torch.export.save(torch.export.export(model, args, kwargs), at(name + ".pt2"))
    print("exported")

if __name__ == "__main__":
    main(sys.argv[1])
`;

function make(command: string) {
  const folder = mkdtempSync(join(tmpdir(), "kserving-torch-"));
  afterAll(() => rmSync(folder, { recursive: true, force: true }));
  writeFileSync(join(folder, "nets.py"), MODELS);
  const printed = execFileSync(command, [join(folder, "nets.py"), folder], { stdio: ["ignore", "pipe", "inherit"] });
  return { folder, hasExported: printed.toString().includes("exported") };
}

const { folder, hasExported } = python === undefined ? { folder: "", hasExported: false } : make(warm);
const load = (file: string, options = {}) =>
  loadModel("pytorch", join(folder, file), { options: { python: warm, ...options } });
const ints = (...values: number[]) => createTensor("int32", [1, values.length], Int32Array.from(values));
const floats = (...values: number[]) => createTensor("float32", [1, values.length], Float32Array.from(values));

describe.skipIf(python === undefined)("numbers for TorchScript, which declares no dtypes", () => {
  it("are floats where the model takes those, in every dtype that clients have for them", async () => {
    const model = await load("linear.pt");
    const doubles = createTensor("float64", [1, 2], Float64Array.of(1.5, 2));
    expect((await predict(model, { input: ints(1, 2) })).output).toMatchObject({ data: Float32Array.of(3) });
    expect((await predict(model, { input: ints(1, 2) })).output).toMatchObject({ data: Float32Array.of(3) });
    expect((await predict(model, { input: doubles })).output).toMatchObject({ data: Float32Array.of(3.5) });
    await expect(predict(model, { input: ints(1, 2, 3) })).rejects.toMatchObject({ code: "invalid_argument" });
    expect((await predict(model, { input: floats(1, 2) })).output).toMatchObject({ data: Float32Array.of(3) });
    expect((await predict(await load("softmax.pt"), { x: ints(2, 2) })).output).toEqual(floats(0.5, 0.5));
  });

  it("stay whole beside them where the model takes indices, and become truth where it chooses", async () => {
    const answer = await predict(await load("masked.pt"), { ids: ints(1, 9, 3), mask: ints(1, 0) });
    expect(answer).toMatchObject({ output_0: floats(2, 2, 2), output_1: { data: Float32Array.of(1) } });
    const model = await load("where.pt");
    expect((await predict(model, { chosen: ints(1, 0), x: floats(5, 6) })).output).toEqual(floats(5, -6));
    await expect(predict(model, { chosen: ints(2, 0), x: floats(5, 6) })).rejects.toMatchObject({
      code: "invalid_argument",
    });
  });

  it("are never cut off to be indices", async () => {
    const given = { ids: floats(1.5, 2), mask: floats(1, 0) };
    await expect(predict(await load("masked.pt"), given)).rejects.toThrow("The model refuses the inputs");
  });
});

describe.skipIf(python === undefined)("a forward with keywords alone", () => {
  it("gets them by their names", async () => {
    const model = await load("only.pt", { model_class: "nets:Only" });
    expect(await predict(model, { mask: floats(1, 0), ids: floats(5, 6) })).toEqual({ output: floats(5, 0) });
    await expect(predict(model, { ids: floats(5, 6) })).rejects.toThrow('Input "mask" is missing');
  });
});

describe.skipIf(!hasExported)("an exported program", () => {
  it.each([
    ["position", "ids", "mask"],
    ["keyword", "ids", "mask"],
    ["only", "ids", "mask"],
    ["dict", "batch_ids", "batch_mask"],
    ["list", "pair_0", "pair_1"],
    ["constant", "ids", "mask"],
  ])("takes the arguments of %s.pt2 as the inputs %s and %s", async (name, ids, mask) => {
    const model = await load(`${name}.pt2`);
    expect(model.signatures.serving_default?.inputs).toEqual([
      { name: ids, dtype: "int64", shape: [1, 3] },
      { name: mask, dtype: "float32", shape: [1, 3] },
    ]);
    const given = createTensor("int64", [1, 3], BigInt64Array.of(1n, 2n, 3n));
    const answer = await predict(model, { [mask]: floats(1, 0, 1), [ids]: given });
    const times = name === "constant" ? 2 : 1;
    expect(answer[name === "only" ? "output" : "logits"]).toEqual(floats(times, 0, 3 * times));
  });
});

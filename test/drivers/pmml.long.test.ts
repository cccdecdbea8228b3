import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { createTensor } from "../../src/tensor/tensor.ts";
import { findPython } from "../helpers/find-python.ts";
import { tempFolder } from "../helpers/temp-folder.ts";
import { predict } from "./predict.ts";
import { loadModel } from "./python/load-model.ts";

const python = findPython("The pmml driver", ["pypmml"]);
const options = { python: python ?? "" };

/** "large" where size + 2 · weight is 4 or more, else "small". */
const TREE = `<PMML xmlns="http://www.dmg.org/PMML-4_4" version="4.4">
  <Header/>
  <DataDictionary numberOfFields="3">
    <DataField name="size" optype="continuous" dataType="double"/>
    <DataField name="weight" optype="continuous" dataType="double"/>
    <DataField name="class" optype="categorical" dataType="string"><Value value="small"/><Value value="large"/></DataField>
  </DataDictionary>
  <TransformationDictionary>
    <DerivedField name="sum" optype="continuous" dataType="double">
      <Apply function="+"><FieldRef field="size"/><Apply function="*"><Constant>2</Constant><FieldRef field="weight"/></Apply></Apply>
    </DerivedField>
  </TransformationDictionary>
  <TreeModel functionName="classification">
    <MiningSchema><MiningField name="size"/><MiningField name="weight"/><MiningField name="class" usageType="target"/></MiningSchema>
    <Node score="small"><True/><ScoreDistribution value="small" recordCount="1"/><ScoreDistribution value="large" recordCount="1"/>
      <Node score="large"><SimplePredicate field="sum" operator="greaterOrEqual" value="4"/>
        <ScoreDistribution value="small" recordCount="1"/><ScoreDistribution value="large" recordCount="3"/></Node>
      <Node score="small"><SimplePredicate field="sum" operator="lessThan" value="4"/>
        <ScoreDistribution value="small" recordCount="9"/><ScoreDistribution value="large" recordCount="1"/></Node>
    </Node>
  </TreeModel>
</PMML>`;

const file = (name: string, text: string) => {
  const path = join(tempFolder(), name);
  writeFileSync(path, text);
  return path;
};
const column = (...values: number[]) => createTensor("float32", [values.length], Float32Array.from(values));

describe.skipIf(python === undefined)("the pmml driver", () => {
  it("answers for fields by name, and for rows of all fields", async () => {
    const model = await loadModel("pmml", file("tree.pmml", TREE), { options });
    const byName = await predict(model, { size: column(1, 3), weight: column(1, 0.5) });
    const rows = createTensor("float64", [2, 2], Float64Array.of(1, 1, 3, 0.5));
    expect(await predict(model, { data: rows })).toEqual(byName);
    expect(Array.from(byName.predicted_class?.data ?? [], String)).toEqual(["small", "large"]);
    expect(byName.probability_large?.data).toEqual(Float64Array.of(0.1, 0.75));
    const alone = (value: number) => createTensor("float32", [], Float32Array.of(value));
    expect((await predict(model, { size: alone(3), weight: alone(0.5) })).probability_large?.data).toEqual(
      Float64Array.of(0.75),
    );
    expect(model.hookArgs).toMatchObject({ model_inputs: { size: [-1], weight: [-1] } });
    expect(model.signatures.serving_default?.suggestedInputs?.map(({ name }) => name)).toEqual(["size", "weight"]);
    await expect(predict(model, { size: column(1), height: column(1) })).rejects.toMatchObject({
      code: "invalid_argument",
      message: 'The model has no input "height". Did you mean "weight"? It has size, weight.',
    });
    await expect(predict(model, { size: column(1), weight: column(1, 2) })).rejects.toMatchObject({
      code: "invalid_argument",
      message: "The inputs have different numbers of rows: 1, 2.",
    });
    const wide = createTensor("float32", [2, 2], Float32Array.of(1, 2, 3, 4));
    await expect(predict(model, { size: wide, weight: wide })).rejects.toMatchObject({
      code: "invalid_argument",
      message: 'Input "size" is a column, with one value for each row; its shape is [2, 2].',
    });
  });

  it("says what is wrong with a file that is no model", async () => {
    await expect(loadModel("pmml", file("broken.pmml", "<PMML/>"), { options })).rejects.toMatchObject({
      code: "failed_precondition",
      message: expect.stringMatching(/^PyPMML \S+ cannot load the model: /),
    });
  });
});
